/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/attachment.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <time.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

#define LOCK_BUDGET USEC_PER_SEC
#define LOCK_PAUSE_NSEC 1000000
#define MARK_TEXT_MAX 256

static char *hold_path(const char *interface, char *ret, size_t size)
{
        (void) concat(ret, size, RUN_HOLD "/", interface);
        return ret;
}

int hold_write(const struct roots *r, const char *interface, const struct hold_mark *m)
{
        char path[PATH_MAX], text[128];

        (void) snprintf(text, sizeof(text), "BUSNUM=%u\nDEVNUM=%u\nDEADLINE=%llu\n", m->busnum, m->devnum,
                        (unsigned long long) m->deadline);
        return state_write(r->run, hold_path(interface, path, sizeof(path)), text, false);
}

static int hold_line(const char *key, const char *value, void *data)
{
        struct hold_mark *m = data;
        unsigned long long v;

        if (parse_uint(value, 10, UINT64_MAX, &v) < 0)
                return 0;
        if (streq(key, "BUSNUM"))
                m->busnum = (unsigned) v;
        else if (streq(key, "DEVNUM"))
                m->devnum = (unsigned) v;
        else if (streq(key, "DEADLINE"))
                m->deadline = v;
        return 0;
}

int hold_read(const struct roots *r, const char *interface, struct hold_mark *ret)
{
        struct hold_mark m = {0};
        char path[PATH_MAX];
        int k = state_read(r->run, hold_path(interface, path, sizeof(path)), hold_line, &m);

        if (k > 0)
                *ret = m;
        return k;
}

int hold_remove(const struct roots *r, const char *interface)
{
        char path[PATH_MAX];

        return state_remove(r->run, hold_path(interface, path, sizeof(path)));
}

static char *mark_path(const struct facts *f, char *ret, size_t size)
{
        char name[ATTACHMENT_MAX];

        (void) concat(ret, size, RUN_ATTACHMENT "/", facts_attachment(f, name));
        return ret;
}

static enum driver parse_driver(const char *value)
{
        int d = driver_from_string(value);

        return d == DRIVER_UAS || d == DRIVER_USB_STORAGE ? (enum driver) d : DRIVER_NONE;
}

static int attachment_line(const char *key, const char *value, void *data)
{
        struct attachment_mark *m = data;
        bool yes = streq(value, "1");

        if (streq(key, "EARLY"))
                m->early = yes;
        else if (streq(key, "TRIED"))
                m->tried = yes;
        else if (streq(key, "RELEASED"))
                m->released = yes;
        else if (streq(key, "NO_AUTO"))
                m->no_auto = yes;
        else if (streq(key, "CANCELLED"))
                m->cancelled = yes;
        else if (streq(key, "OVERRIDE"))
                m->override_target = parse_driver(value);
        else if (streq(key, "OVERRIDE_FORCED"))
                m->override_forced = yes;
        else if (streq(key, "UNTOLD"))
                m->untold = yes;
        else if (streq(key, "LEASE"))
                m->lease = parse_driver(value);
        return 0;
}

int attachment_read(const struct roots *r, const struct facts *f, struct attachment_mark *ret)
{
        struct attachment_mark m = {};
        char path[PATH_MAX];
        int k = state_read(r->run, mark_path(f, path, sizeof(path)), attachment_line, &m);

        if (k >= 0)
                *ret = m;
        return k;
}

bool attachment_fresh(const struct roots *r, const struct facts *f)
{
        struct attachment_mark a = {};

        if (attachment_read(r, f, &a) < 0)
                return false;
        return in_initramfs(r) ? !a.early : !a.tried && !a.released && !a.cancelled;
}

static const char *format_mark(const struct attachment_mark *m, char ret[static MARK_TEXT_MAX])
{
        (void) snprintf(
                ret, MARK_TEXT_MAX,
                "EARLY=%i\nTRIED=%i\nRELEASED=%i\nNO_AUTO=%i\nCANCELLED=%i\nOVERRIDE=%s\nOVERRIDE_FORCED=%i\nUNTOLD=%i\nLEASE=%s\n",
                m->early, m->tried, m->released, m->no_auto, m->cancelled, driver_to_string(m->override_target),
                m->override_forced, m->untold, driver_to_string(m->lease));
        return ret;
}

static int attachment_write(const struct roots *r, const struct facts *f, const struct attachment_mark *m)
{
        char path[PATH_MAX], text[MARK_TEXT_MAX];

        return state_write(r->run, mark_path(f, path, sizeof(path)), format_mark(m, text), false);
}

/*
 * Locks a file that only root can open: any user could lock a directory that he may read. Uses neither timer nor signal: it is
 * called in the daemon's event loop. Returns a descriptor, or -errno if there is no lock.
 */
static int attachment_lock(const struct roots *r)
{
        usec_t deadline = now_monotonic() + LOCK_BUDGET;
        _cleanup_close_ int fd = -1;

        (void) state_mkdir(r->run, RUN_DIR);
        fd = openat(r->run, RUN_ATTACHMENT_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (now_monotonic() >= deadline)
                        return -ETIMEDOUT;
                (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = LOCK_PAUSE_NSEC}, NULL);
        }
        return TAKE_FD(fd);
}

static void take_fields(struct attachment_mark *m, unsigned fields, const struct attachment_mark *to)
{
        if (fields & MARK_TRIED)
                m->tried = to->tried;
        if (fields & MARK_RELEASED)
                m->released = to->released;
        if (fields & MARK_NO_AUTO)
                m->no_auto = to->no_auto;
        if (fields & MARK_CANCELLED)
                m->cancelled = to->cancelled;
        if (fields & MARK_OVERRIDE) {
                m->override_target = to->override_target;
                m->override_forced = to->override_forced;
        }
        if (fields & MARK_UNTOLD)
                m->untold = to->untold;
        if (fields & MARK_LEASE)
                m->lease = to->lease;
}

int attachment_change(const struct roots *r, const struct facts *f, unsigned fields, const struct attachment_mark *to)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(r);
        struct attachment_mark m;
        char before[MARK_TEXT_MAX], after[MARK_TEXT_MAX];
        int k = attachment_read(r, f, &m);

        if (k < 0)
                return k;
        (void) format_mark(&m, before);
        if (in_initramfs(r))
                m.early = true;
        else
                take_fields(&m, fields, to);
        /* A device that has gone gets no mark. */
        return streq(before, format_mark(&m, after)) ? 0 : attachment_write(r, f, &m);
}

int attachment_drop_override(const struct roots *r, const struct facts *f, enum driver target)
{
        _unused_ _cleanup_close_ int locked = attachment_lock(r);
        struct attachment_mark m;
        int k = attachment_read(r, f, &m);

        if (k < 0 || m.override_target != target)
                return k;
        take_fields(&m, MARK_OVERRIDE, &(struct attachment_mark){});
        return attachment_write(r, f, &m);
}

struct prune {
        const struct roots *roots;
        const char *dir;
};

/* Read through the interface: usb_disconnect() removes the interfaces first, and the device some time later. */
int attachment_now(const struct roots *r, const char *interface, unsigned *ret_busnum, unsigned *ret_devnum)
{
        char path[PATH_MAX];
        uint64_t bus, dev;
        int k;

        (void) concat(path, sizeof(path), SYSFS_USB_DEVICES "/", interface, "/../busnum");
        k = attr_read_uint(r->sys, path, 10, &bus);
        (void) concat(path, sizeof(path), SYSFS_USB_DEVICES "/", interface, "/../devnum");
        if (k >= 0)
                k = attr_read_uint(r->sys, path, 10, &dev);
        if (k < 0)
                return k;
        *ret_busnum = (unsigned) bus;
        *ret_devnum = (unsigned) dev;
        return 0;
}

static int prune_one(const char *name, void *data)
{
        const struct prune *prune = data;
        char path[PATH_MAX], interface[INTERFACE_NAME_MAX];
        const char *at = strrchr(name, '@');
        unsigned bus, dev, bus_now, dev_now;

        if (!at || sscanf(at, "@%u-%u", &bus, &dev) != 2 ||
            (size_t) snprintf(interface, sizeof(interface), "%.*s", (int) (at - name), name) >= sizeof(interface))
                return 0;
        if (attachment_now(prune->roots, interface, &bus_now, &dev_now) >= 0 && bus_now == bus && dev_now == dev)
                return 0;
        (void) snprintf(path, sizeof(path), "%s/%s", prune->dir, name);
        (void) state_remove(prune->roots->run, path);
        return 0;
}

static int prune_hold(const char *interface, void *data)
{
        const struct roots *r = data;
        struct hold_mark m;
        unsigned bus, dev;

        if (interface[0] != '.' && hold_read(r, interface, &m) > 0 &&
            (attachment_now(r, interface, &bus, &dev) < 0 || bus != m.busnum || dev != m.devnum))
                (void) hold_remove(r, interface);
        return 0;
}

int attachments_prune(const struct roots *r, const char *port)
{
        static const char *const dirs[] = {RUN_ATTACHMENT, RUN_STRINGS};
        char interfaces[INTERFACE_NAME_MAX + 1];
        int k = 0;

        (void) snprintf(interfaces, sizeof(interfaces), "%s%s", port ? port : "", port ? ":" : "");
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                struct prune prune = {r, dirs[i]};
                int one = dir_each_of(r->run, dirs[i], interfaces, prune_one, &prune);

                if (one < 0 && one != -ENOENT)
                        k = one;
        }
        (void) dir_each_of(r->run, RUN_HOLD, interfaces, prune_hold, (void *) r);
        return k;
}

bool hold_in_force(const struct roots *r, const struct facts *f, usec_t now, usec_t *ret_deadline)
{
        struct attachment_mark a;
        struct hold_mark m;

        if (hold_read(r, f->interface, &m) <= 0 || m.busnum != f->busnum || m.devnum != f->devnum || m.deadline <= now ||
            m.deadline - now > HOLD_MAX_USEC)
                return false;
        if (attachment_read(r, f, &a) < 0 || a.released)
                return false;
        if (ret_deadline)
                *ret_deadline = m.deadline;
        return true;
}

int hold_release(const struct roots *r, const struct facts *f)
{
        struct attachment_mark released = {.early = true, .released = true};
        struct hold_mark mark;
        int k = attachment_change(r, f, MARK_RELEASED, &released), m = 0;

        if (k < 0) /* unreadable: make sure that it is never held again */
                k = attachment_write(r, f, &released);
        /* The mark may belong to the next device at this port. */
        if (hold_read(r, f->interface, &mark) <= 0 || (mark.busnum == f->busnum && mark.devnum == f->devnum))
                m = hold_remove(r, f->interface);
        /* One of the two is enough. Without a mark no hold begins again either, since PID 1 has seen the disk. */
        return k < 0 && m < 0 ? k : 0;
}
