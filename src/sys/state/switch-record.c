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
        (void) concat(ret, size, RUN_SWITCH "/", interface, NULL);
        return ret;
}

char *switch_lock_path(const char *interface, char *ret, size_t size)
{
        (void) concat(ret, size, RUN_SWITCH "/", interface, ".lock", NULL);
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

struct switch_record {
        unsigned long long pid, busnum, devnum;
        bool await;
};

static int record_line(const char *key, const char *value, void *data)
{
        struct switch_record *record = data;

        if (streq(key, "PID") && parse_uint(value, 10, INT_MAX, &record->pid) < 0)
                record->pid = 0;
        if (streq(key, "BUSNUM"))
                (void) parse_uint(value, 10, UINT_MAX, &record->busnum);
        if (streq(key, "DEVNUM"))
                (void) parse_uint(value, 10, UINT_MAX, &record->devnum);
        if (streq(key, "AWAIT"))
                record->await = streq(value, "1");
        return 0;
}

/* Returns true and the record. The record of a killed uasd-switch stays until a recovery. */
static bool read_living(const struct roots *r, const char *interface, struct switch_record *ret)
{
        char path[PATH_MAX];

        *ret = (struct switch_record){0};
        return state_read(r->run, switch_record_path(interface, path, sizeof(path)), record_line, ret) > 0 && ret->pid > 0 &&
               (kill((pid_t) ret->pid, 0) == 0 || errno == EPERM);
}

bool switch_at_work(const struct roots *r, const char *interface)
{
        struct switch_record record;

        return read_living(r, interface, &record);
}

bool switch_awaited(const struct roots *r, const char *interface)
{
        struct switch_record record;

        return read_living(r, interface, &record) && record.await;
}

bool switch_of_another(const struct roots *r, const struct facts *f)
{
        struct switch_record record = {0};
        char path[PATH_MAX];

        return state_read(r->run, switch_record_path(f->interface, path, sizeof(path)), record_line, &record) > 0 &&
               (record.busnum != f->busnum || record.devnum != f->devnum);
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
