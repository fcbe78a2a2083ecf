/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/names.h"
#include "switch/record.h"
#include "switch/transaction.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

static int take_lock(struct transaction *t)
{
        _cleanup_close_ int fd = -1;
        int r = state_mkdir(t->roots.run, RUN_SWITCH);

        if (r < 0)
                return r;
        fd = openat(t->roots.run, SWITCH_LOCK_PATH(t->interface),
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = switch_lock_take(fd, SWITCH_LOCK);
        if (r < 0)
                return r == -EAGAIN ? -EALREADY : r;
        t->lock = TAKE_FD(fd);
        return 0;
}

/* Returns 0, -ESTALE, or -errno if that is not known. */
static int record_is_ours(const struct transaction *t)
{
        struct switch_record record;
        int r = switch_record_read(&t->roots, t->interface, &record);

        if (r < 0)
                return r;
        if (r == 0 || record.pid != t->recorded_by)
                return -ESTALE;
        return 0;
}

int record_write(struct transaction *t, const char *step)
{
        struct switch_record record = {
                .pid = getpid(),
                .attachment = facts_attachment_id(&t->disk.facts),
                .from = t->from,
                .to = t->to,
                .n_disks = t->before.n_disks,
                .moved = tx_moved(t),
                .failed = tx_failed(t),
                .holding = t->hold.ours,
                .awaited = t->hold.awaited,
        };
        int r;

        /* hold_rescue() removes the record and gives the disk to another driver: a switch that
         * wakes up late must stop. */
        if (t->recorded) {
                r = record_is_ours(t);
                if (r < 0)
                        return r;
        }
        (void) copy_string(record.step, sizeof(record.step), step);
        if (tx_failed(t) && unread_any(&t->blame.unread))
                (void) unread_text(&t->blame.unread, record.unread);
        r = switch_record_write(&t->roots, t->interface, &record);
        if (r < 0)
                return r;
        t->recorded = true;
        t->recorded_by = record.pid;
        return 0;
}

int record_begin(struct transaction *t)
{
        int r = take_lock(t);

        if (r < 0)
                return r;
        return record_write(t, "record");
}

int record_check(struct transaction *t)
{
        int r = record_is_ours(t);

        if (r < 0)
                return r;
        return attachment_there(t) ? 0 : -ESTALE;
}

void record_end(struct transaction *t)
{
        if (t->lock < 0)
                return;
        (void) switch_record_remove(&t->roots, t->interface);
        /* The lock file stays. Removing it would let two processes hold "the" lock on two files. */
        t->lock = close_keep_errno(t->lock);
}

int record_load(struct transaction *t, bool *ret_replugged)
{
        struct switch_record record;
        struct attachment_id now;
        bool replugged;
        int r = take_lock(t);

        if (r < 0)
                return r;
        r = switch_record_read(&t->roots, t->interface, &record);
        if (r <= 0)
                return r;
        /* The lock is ours, so the record is, even if there is no room to write it again. */
        t->recorded = true;
        t->recorded_by = record.pid;
        t->from = record.from;
        t->to = record.to;
        t->before.n_disks = record.n_disks;
        memcpy(t->result.step, record.step, sizeof(t->result.step));
        replugged = attachment_now(&t->roots, t->interface, &now) < 0 ||
                    !attachment_id_same(now, record.attachment);
        *ret_replugged = replugged;
        if (replugged) /* another device is at that port now, which must not be moved */
                return 1;
        t->phase = record.moved ? PHASE_TAKEN : PHASE_HOME;
        t->hold.ours = record.holding;
        if (record.failed) {
                t->blame.guilt = GUILT_FAILED;
                (void) unread_parse(record.unread, &t->blame.unread);
        }
        return 1;
}
