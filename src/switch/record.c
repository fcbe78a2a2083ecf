/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>

#include "common/names.h"
#include "switch/transaction.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

/*
 * /run/uasd/switch/INTERFACE records the progress, for the process that has to finish a switch. The lock is on INTERFACE.lock
 * beside it, since replacing the record must not drop it. It lasts as long as the process.
 */

static int take_lock(struct transaction *t)
{
        char path[PATH_MAX];
        _cleanup_close_ int fd = -1;
        int r = state_mkdir(t->roots.run, RUN_SWITCH);

        if (r < 0)
                return r;
        fd = openat(t->roots.run, switch_lock_path(t->interface, path, sizeof(path)), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                    0600);
        if (fd < 0)
                return -errno;
        r = switch_lock_take(fd, SWITCH_LOCK);
        if (r < 0)
                return r == -EAGAIN ? -EALREADY : r;
        t->lock = TAKE_FD(fd);
        return 0;
}

struct loaded {
        int pid;
        unsigned busnum, devnum;
        struct transaction *t;
};

static int load_line(const char *key, const char *value, void *data)
{
        struct loaded *l = data;
        unsigned long long v = 0;
        bool number = parse_uint(value, 10, UINT_MAX, &v) >= 0;
        int d;

        if (streq(key, "PID") && number)
                l->pid = (int) v;
        else if (streq(key, "BUSNUM") && number)
                l->busnum = (unsigned) v;
        else if (streq(key, "DEVNUM") && number)
                l->devnum = (unsigned) v;
        if (!l->t)
                return 0;
        if (streq(key, "FROM") && (d = driver_from_string(value)) >= 0)
                l->t->from = (enum driver) d;
        else if (streq(key, "TO") && (d = driver_from_string(value)) >= 0)
                l->t->to = (enum driver) d;
        else if (streq(key, "STEP"))
                (void) copy_string(l->t->step, sizeof(l->t->step), value);
        else if (streq(key, "DISKS") && number)
                l->t->n_disks = (size_t) v;
        else if (streq(key, "MOVED"))
                l->t->moved = number && v == 1;
        else if (streq(key, "FAILED"))
                l->t->failed = number && v == 1;
        else if (streq(key, "HOLDING"))
                l->t->holding = number && v == 1;
        return 0;
}

static bool record_is_ours(const struct transaction *t)
{
        struct loaded l = {0};
        char path[PATH_MAX];

        return state_read(t->roots.run, switch_record_path(t->interface, path, sizeof(path)), load_line, &l) > 0 &&
               l.pid == (int) getpid();
}

int record_write(struct transaction *t, const char *step)
{
        char path[PATH_MAX], text[512];
        int r;

        /* hold_rescue() removes the record and gives the disk to another driver: a switch that wakes up late must stop. */
        if (t->recorded && !record_is_ours(t))
                return -ESTALE;
        (void) snprintf(
                text, sizeof(text),
                "PID=%i\nBUSNUM=%u\nDEVNUM=%u\nFROM=%s\nTO=%s\nSTEP=%s\nDISKS=%zu\nMOVED=%i\nFAILED=%i\nHOLDING=%i\nAWAIT=%i\n",
                (int) getpid(), t->disk.facts.busnum, t->disk.facts.devnum, driver_to_string(t->from), driver_to_string(t->to),
                step, t->n_disks, t->moved, t->failed, t->holding, t->awaited);
        r = state_write(t->roots.run, switch_record_path(t->interface, path, sizeof(path)), text, false);
        t->recorded = t->recorded || r >= 0;
        return r;
}

int record_begin(struct transaction *t)
{
        int r = take_lock(t);

        return r < 0 ? r : record_write(t, "record");
}

int record_check(struct transaction *t)
{
        if (!record_is_ours(t))
                return -ESTALE;
        return attachment_there(t) ? 0 : -ESTALE;
}

void record_end(struct transaction *t)
{
        char path[PATH_MAX];

        if (t->lock < 0)
                return;
        (void) state_remove(t->roots.run, switch_record_path(t->interface, path, sizeof(path)));
        /* The lock file stays. Removing it would let two processes hold "the" lock on two files. */
        t->lock = close_keep_errno(t->lock);
}

int record_load(struct transaction *t)
{
        struct loaded l = {.t = t};
        unsigned busnum, devnum;
        char path[PATH_MAX];
        int r = take_lock(t);

        if (r < 0)
                return r;
        r = state_read(t->roots.run, switch_record_path(t->interface, path, sizeof(path)), load_line, &l);
        if (r <= 0)
                return r;
        /* Another device is at that port now. It must not be moved. */
        t->replugged = attachment_now(&t->roots, t->interface, &busnum, &devnum) < 0 || busnum != l.busnum || devnum != l.devnum;
        if (t->replugged)
                t->moved = t->failed = t->holding = false;
        return 1;
}
