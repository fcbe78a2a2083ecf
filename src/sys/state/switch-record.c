/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/switch-record.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"

#define LOOK_AGAIN_MSEC 100 /* no event reports the death of a uasd-switch */

char *switch_record_path(const char *interface, char *ret, size_t size)
{
        (void) concat(ret, size, RUN_SWITCH "/", interface);
        return ret;
}

char *switch_lock_path(const char *interface, char *ret, size_t size)
{
        (void) concat(ret, size, RUN_SWITCH "/", interface, ".lock");
        return ret;
}

int switch_lock_take(int fd, enum switch_lock which)
{
        struct flock lock = {
                .l_type = which == SWITCH_LOCK ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1};

        return fcntl(fd, F_OFD_SETLK, &lock) >= 0 ? 0 : errno == EACCES ? -EAGAIN : -errno;
}

bool switch_lock_held(int fd, enum switch_lock which)
{
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1};

        return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

bool switch_recorded(const struct roots *r, const char *interface)
{
        char path[PATH_MAX];

        return faccessat(r->run, switch_record_path(interface, path, sizeof(path)), F_OK, 0) == 0;
}

static int take_line(const char *key, const char *value, void *data)
{
        struct switch_record *record = data;
        unsigned long long v = 0;
        bool number = parse_uint(value, 10, INT_MAX, &v) >= 0;
        int d = driver_from_string(value);

        if (streq(key, "PID"))
                record->pid = (pid_t) v;
        else if (streq(key, "BUSNUM") && number)
                record->busnum = (unsigned) v;
        else if (streq(key, "DEVNUM") && number)
                record->devnum = (unsigned) v;
        else if (streq(key, "FROM") && d >= 0)
                record->from = (enum driver) d;
        else if (streq(key, "TO") && d >= 0)
                record->to = (enum driver) d;
        else if (streq(key, "STEP"))
                (void) copy_string(record->step, sizeof(record->step), value);
        else if (streq(key, "DISKS") && number)
                record->n_disks = (size_t) v;
        else if (streq(key, "MOVED"))
                record->moved = v == 1;
        else if (streq(key, "FAILED"))
                record->failed = v == 1;
        else if (streq(key, "HOLDING"))
                record->holding = v == 1;
        else if (streq(key, "AWAIT"))
                record->awaited = v == 1;
        return 0;
}

int switch_record_read(const struct roots *r, const char *interface, struct switch_record *ret)
{
        char path[PATH_MAX];

        *ret = (struct switch_record){};
        return state_read(r->run, switch_record_path(interface, path, sizeof(path)), take_line, ret);
}

int switch_record_write(const struct roots *r, const char *interface, const struct switch_record *record)
{
        char path[PATH_MAX], text[512];

        (void) snprintf(
                text, sizeof(text),
                "PID=%i\nBUSNUM=%u\nDEVNUM=%u\nFROM=%s\nTO=%s\nSTEP=%s\nDISKS=%zu\nMOVED=%i\nFAILED=%i\nHOLDING=%i\nAWAIT=%i\n",
                (int) record->pid, record->busnum, record->devnum, driver_to_string(record->from), driver_to_string(record->to),
                record->step, record->n_disks, record->moved, record->failed, record->holding, record->awaited);
        return state_write(r->run, switch_record_path(interface, path, sizeof(path)), text, false);
}

int switch_record_remove(const struct roots *r, const char *interface)
{
        char path[PATH_MAX];

        return state_remove(r->run, switch_record_path(interface, path, sizeof(path)));
}

/* Returns true and the record. The record of a killed uasd-switch stays until a recovery. */
static bool read_living(const struct roots *r, const char *interface, struct switch_record *ret)
{
        return switch_record_read(r, interface, ret) > 0 && ret->pid > 0 && (kill(ret->pid, 0) == 0 || errno == EPERM);
}

bool switch_at_work(const struct roots *r, const char *interface)
{
        struct switch_record record;

        return read_living(r, interface, &record);
}

bool switch_awaited(const struct roots *r, const char *interface)
{
        struct switch_record record;

        return read_living(r, interface, &record) && record.awaited;
}

bool switch_of_another(const struct roots *r, const struct facts *f)
{
        struct switch_record record;

        return switch_record_read(r, f->interface, &record) > 0 && (record.busnum != f->busnum || record.devnum != f->devnum);
}

static int watch_records(const struct roots *r)
{
        char path[64];
        int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/" RUN_SWITCH, r->run);
        if (fd >= 0)
                (void) inotify_add_watch(fd, path, IN_MOVED_TO | IN_DELETE);
        return fd;
}

int switch_await(const struct roots *r, const char *interface, struct awake deadline)
{
        _cleanup_close_ int records = watch_records(r);
        char buffer[1024];

        while (switch_awaited(r, interface)) {
                if (awake_left(deadline) == 0)
                        return -ETIMEDOUT;
                /* Without inotify the poll below ends only by its timeout. */
                (void) poll(&(struct pollfd){records, POLLIN, 0}, 1, LOOK_AGAIN_MSEC);
                while (records >= 0 && read(records, buffer, sizeof(buffer)) > 0)
                        ;
        }
        return 0;
}
