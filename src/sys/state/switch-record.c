/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/switch-record.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/record.h"
#include "sys/io/statefile.h"

#define LOOK_AGAIN_MSEC 100 /* no event reports the death of a uasd-switch */

int switch_lock_take(int fd, enum switch_lock which)
{
        struct flock lock = {.l_type = which == SWITCH_LOCK ? F_WRLCK : F_RDLCK,
                             .l_whence = SEEK_SET,
                             .l_start = which,
                             .l_len = 1};

        if (fcntl(fd, F_OFD_SETLK, &lock) >= 0)
                return 0;
        if (errno == EACCES)
                return -EAGAIN;
        return -errno;
}

bool switch_lock_held(int fd, enum switch_lock which)
{
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1};

        return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

bool switch_recorded(const struct roots *roots, const char *interface)
{
        return faccessat(roots->run, SWITCH_RECORD_PATH(interface), F_OK, 0) == 0;
}

static const struct state_field record_fields[] = {
        STATE_FIELD("PID", VALUE_NUMBER, switch_record, pid),
        STATE_FIELD("BUSNUM", VALUE_NUMBER, switch_record, attachment.busnum),
        STATE_FIELD("DEVNUM", VALUE_NUMBER, switch_record, attachment.devnum),
        STATE_FIELD("INODE", VALUE_NUMBER, switch_record, attachment.inode),
        STATE_FIELD("FROM", VALUE_DRIVER, switch_record, from),
        STATE_FIELD("TO", VALUE_DRIVER, switch_record, to),
        STATE_FIELD("STEP", VALUE_TEXT, switch_record, step),
        STATE_FIELD("DISKS", VALUE_NUMBER, switch_record, n_disks),
        STATE_FIELD("MOVED", VALUE_FLAG, switch_record, moved),
        STATE_FIELD("FAILED", VALUE_FLAG, switch_record, failed),
        STATE_FIELD("HOLDING", VALUE_FLAG, switch_record, holding),
        STATE_FIELD("AWAIT", VALUE_FLAG, switch_record, awaited),
        STATE_FIELD("UNREAD", VALUE_TEXT, switch_record, unread),
};
static const struct state_type record_type = {record_fields, ELEMENTSOF(record_fields), false};

int switch_record_read(const struct roots *roots, const char *interface, struct switch_record *ret)
{
        *ret = (struct switch_record){};
        return state_load(roots->run, SWITCH_RECORD_PATH(interface), &record_type, ret);
}

int switch_record_write(const struct roots *roots, const char *interface,
                        const struct switch_record *record)
{
        return state_store(roots->run, SWITCH_RECORD_PATH(interface), &record_type, record);
}

int switch_record_remove(const struct roots *roots, const char *interface)
{
        return state_remove(roots->run, SWITCH_RECORD_PATH(interface));
}

/* Returns true and the record. The record of a killed uasd-switch stays until a recovery. */
static bool switch_record_read_living(const struct roots *roots, const char *interface,
                                      struct switch_record *ret)
{
        return switch_record_read(roots, interface, ret) > 0 && ret->pid > 0 &&
               (kill(ret->pid, 0) == 0 || errno == EPERM);
}

bool switch_at_work(const struct roots *roots, const char *interface)
{
        struct switch_record record;

        return switch_record_read_living(roots, interface, &record);
}

bool switch_awaited(const struct roots *roots, const char *interface)
{
        struct switch_record record;

        return switch_record_read_living(roots, interface, &record) && record.awaited;
}

bool switch_of_another(const struct roots *roots, const struct facts *f)
{
        struct switch_record record;

        return switch_record_read(roots, f->interface, &record) > 0 &&
               !attachment_id_same(record.attachment, facts_attachment_id(f));
}

static int switch_records_watch(const struct roots *roots)
{
        char path[64];
        int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/" RUN_SWITCH, roots->run);
        if (fd >= 0)
                (void) inotify_add_watch(fd, path, IN_MOVED_TO | IN_DELETE);
        return fd;
}

int switch_await(const struct roots *roots, const char *interface, struct awake deadline)
{
        _cleanup_close_ int records = switch_records_watch(roots);
        char buffer[1024];

        while (switch_awaited(roots, interface)) {
                if (awake_left(deadline) == 0)
                        return -ETIMEDOUT;
                /* Without inotify the poll below ends only by its timeout. */
                (void) poll(&(struct pollfd){records, POLLIN, 0}, 1, LOOK_AGAIN_MSEC);
                while (records >= 0 && read(records, buffer, sizeof(buffer)) > 0)
                        ;
        }
        return 0;
}
