/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <sys/param.h>

#include "common/names.h"
#include "switch/appear.h"
#include "switch/hold.h"
#include "switch/record.h"
#include "switch/transaction.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"

/* Until then udev's helper waits in any case. The other half is for arming a hold. */
#define ALONE_USEC (AWAIT_USEC / 2)
#define UDEV_BUDGET (3 * USEC_PER_SEC)

/* an unbind, a bind and delay_use, at most; a third of a short hold */
#define UNDO_BUDGET (5 * USEC_PER_SEC)

struct awake undo_deadline(const struct transaction *t)
{
        usec_t end = t->hold.until.usec, third = (end - t->before.began.usec) / 3;

        return (struct awake){end - MIN(third, UNDO_BUDGET)};
}

struct awake step_deadline(const struct transaction *t, usec_t budget)
{
        struct awake end = awake_in(budget);

        if (t->hold.deadline && undo_deadline(t).usec < end.usec)
                return undo_deadline(t);
        return end;
}

static usec_t hold_length(const struct transaction *t)
{
        return MIN(t->config.hold_usec, HOLD_MAX_USEC);
}

/* Starts the timer, unless it was started a moment ago. After a failure PID 1 is not asked again: a
 * switch waits only once. */
static int hold_arm(struct transaction *t)
{
        usec_t now = now_boottime();

        if (hold_length(t) == 0 || cmdline_has(&t->roots, CMDLINE_NO_HOLD))
                return -ECANCELED;
        if (t->hold.armed && now < t->hold.armed + hold_length(t) / 2)
                return 0;
        if (t->pid1.error >= 0)
                t->pid1.error = pid1_ask_and_wait(
                        PID1_ASK_RELEASE, t->interface,
                        awake_in(t->phase == PHASE_DETACHED ? PID1_LONG_USEC : PID1_USEC));
        if (t->pid1.error < 0)
                return t->pid1.error;
        t->hold.armed = now_boottime();
        return 0;
}

int switch_hold_prepare(struct transaction *t)
{
        if (t->hold.deadline || (!t->request.plugged && !t->request.no_udev))
                return 0;
        return hold_arm(t);
}

/* Without a timer there is no hold. It is not needed either: without PID 1 no process mounts the
 * disk meanwhile. */
static void hold_set(struct transaction *t)
{
        struct facts *f = &t->disk.facts;
        struct hold_mark m = {.attachment = facts_attachment_id(f)};

        if (t->hold.ours || hold_arm(t) < 0)
                return;
        /* A mark "released" belongs to an earlier hold on this attachment. This hold is our own,
         * and short. */
        (void) attachment_change(&t->roots, f, MARK_RELEASED,
                                 &(struct attachment_mark){.released = false});
        m.deadline = t->hold.armed + hold_length(t);
        assert(t->hold.armed != 0 &&
               m.deadline >
                       t->hold.armed); /* every hold has a deadline, and a timer that ends it */
        t->hold.ours = hold_write(&t->roots, t->interface, &m) >= 0;
        /* A boot or a user waits for this disk: its time is that of the hold. */
        if (t->hold.ours && t->request.plugged && !t->hold.deadline) {
                t->hold.deadline = m.deadline;
                t->hold.until = awake_in(m.deadline - now_boottime());
        }
}

void switch_hold_await(struct transaction *t)
{
        t->hold.unseen = now_awake();
        t->hold.awaited = !t->request.no_udev;
}

void switch_hold_begin(struct transaction *t)
{
        const struct attachment_mark mark = {.tried = true, .no_auto = true, .switched_to = t->to};
        unsigned fields = MARK_SWITCHED;

        if (t->request.automatic)
                fields |= MARK_TRIED;
        if (!t->request.plugged)
                fields |= MARK_NO_AUTO;
        /* Written before the bind: the rule never begins another hold on this attachment. */
        (void) attachment_change(&t->roots, &t->disk.facts, fields, &mark);
        t->hold.ours = t->hold.deadline != 0;
        if (!t->hold.awaited)
                switch_hold_await(t);
        if (t->hold.awaited && record_write(t, t->result.step) < 0)
                t->hold.awaited = false;
        /* a boot or a user waits for it: if this process dies, PID 1 ends the hold */
        if (t->request.plugged || !t->hold.awaited)
                hold_set(t);
}

int switch_hold_if_long_left(const struct transaction *t)
{
        usec_t left = awake_left((struct awake){t->hold.unseen.usec + ALONE_USEC});

        if (!t->hold.awaited)
                return -1;
        if (left == 0)
                return 0;
        return (int) (left / USEC_PER_MSEC) + 1;
}

void switch_hold_if_long(struct transaction *t)
{
        if (switch_hold_if_long_left(t) == 0)
                hold_set(t);
}

/*
 * While udev's worker waits, it has the disk open, and the kernel cannot use its name again. So the
 * worker may go on: it sees that the disk is held. The disks that appear later are held in the same
 * way.
 */
void switch_hold_for_undo(struct transaction *t, bool known)
{
        struct udev_monitor *udev = NULL;

        if (!t->request.no_udev)
                (void) uevents_open(UEVENTS_PROCESSED, &udev);
        uevents_close(t->events);
        t->events = udev;
        if (!t->hold.awaited)
                return;
        if (known)
                hold_set(t);
        t->hold.awaited = false;
        (void) record_write(t, t->result.step);
        if (known)
                wait_for_udev(t, awake_in(UDEV_BUDGET));
}

void switch_hold_end(struct transaction *t)
{
        /* No process has seen the hold: the helper has waited during all of it. */
        bool silent = t->hold.awaited && awake_since(t->hold.unseen) < AWAIT_USEC;
        _cleanup_(usb_disk_done) struct usb_disk now = {0};

        if (!t->hold.ours && !t->hold.deadline && !t->hold.awaited)
                return;
        (void) hold_release(&t->roots, &t->disk.facts);
        t->hold.ours = t->hold.awaited = false;
        t->hold.deadline = 0;
        if (silent || t->request.no_udev)
                return;
        (void) usb_disk_read(&t->roots, t->interface, false,
                             &now); /* on failure it is no attachment */
        if (attachment_same(t, &now.facts))
                (void) trigger_add(&t->roots, now.luns, now.n_luns);
}
