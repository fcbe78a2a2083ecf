/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/hold.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "core/policy.h"
#include "sys/facts.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"
#include "sys/state/settings.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"

/* Returns true if `fn` is true for a disk or partition. */
static bool any_block(const struct usb_disk *d, bool (*fn)(const struct roots *r, const struct block *b), const struct roots *r)
{
        for (size_t i = 0; i < d->n_luns; i++)
                FOREACH_NODE (b, d->luns + i)
                        if (fn(r, b))
                                return true;
        return false;
}

static bool told_anything(const struct roots *r, const struct block *b)
{
        return hold_told(r, b) != TOLD_NOTHING;
}

static bool told_held(const struct roots *r, const struct block *b)
{
        return hold_told(r, b) == TOLD_HELD;
}

bool hold_untouched(const struct roots *r, const struct usb_disk *d)
{
        struct hold_mark before;
        int k;

        if (!attachment_fresh(r, &d->facts))
                return false;
        k = hold_read(r, d->facts.interface, &before);
        if (k < 0 || (k > 0 && attachment_id_same(before.attachment, facts_attachment_id(&d->facts))))
                return false; /* it was held before */
        return !any_block(d, told_anything, r) && users_any(r, d->luns, d->n_luns) == 0;
}

/* The timer comes first: without a timer there is no hold. It fires when the mark has expired, never before. */
static bool begin(const struct roots *r, const struct facts *f, const struct hold_limits *l, hold_arm_fn arm)
{
        struct hold_mark m = {
                .attachment = facts_attachment_id(f),
                .deadline = now_boottime() + l->hold,
        };

        return arm(f->interface) >= 0 && hold_write(r, f->interface, &m) >= 0;
}

/* Returns true if the configuration allows holds. */
static bool load(const struct roots *r, struct config *ret)
{
        config_init(ret);
        return conf_load(r, ret, NULL, NULL) >= 0 && ret->hold_usec > 0;
}

/* Only here policy and configuration count. */
static bool wants_hold(const struct roots *r, struct facts *f)
{
        _cleanup_(config_done) struct config c;
        struct decision decision;

        if (!load(r, &c))
                return false;
        facts_complete(r, &c, f);
        decide(f, &decision);
        return decision_wants_switch(f, &decision);
}

static bool begins(const struct roots *r, struct usb_disk *d, hold_arm_fn arm)
{
        struct hold_limits limits;

        if (in_initramfs(r))
                return users_any(r, d->luns, d->n_luns) == 0 && wants_hold(r, &d->facts);
        if (limits_read(r, &limits) >= 0 && hold_untouched(r, d) && wants_hold(r, &d->facts) && begin(r, &d->facts, &limits, arm))
                return true;
        /* It began before, perhaps just now by the event of another LUN. */
        return hold_in_force(r, &d->facts, now_boottime(), NULL);
}

static void wait_for_switch(const struct roots *r, const struct facts *f)
{
        usec_t deadline, now = now_boottime(), wait = AWAIT_USEC;
        _cleanup_(config_done) struct config c;

        if (!load(r, &c))
                return;
        if (hold_in_force(r, f, now, &deadline) && deadline - now < wait)
                wait = deadline - now;
        (void) switch_await(r, f->interface, awake_in(wait));
}

int hold_decide(const struct roots *r, const struct block_event *e, hold_arm_fn arm, struct hold_answer *ret)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_answer answer;
        int k;

        k = hold_ask(r, e, false, &d, &answer);
        if (k == HOLD_MUST_WAIT) {
                wait_for_switch(r, &d.facts);
                usb_disk_done(&d);
                k = hold_ask(r, e, true, &d, &answer);
        }
        if (k < 0)
                return k;
        if (k == HOLD_MAY_BEGIN)
                answer.hold = begins(r, &d, arm);
        *ret = answer;
        return 0;
}

/*
 * If uasd-switch was stopped between the two drivers, the kernel chooses a driver for the disk, so that the programs that wait
 * for it get it. Without its record that uasd-switch ends as soon as it wakes up.
 */
void hold_rescue(const struct roots *r, const struct facts *f)
{
        if (f->driver != DRIVER_NONE || !switch_recorded(r, f->interface))
                return;
        (void) switch_record_remove(r, f->interface);
        (void) attr_write(r->sys, SYSFS_DRIVERS_PROBE, f->interface);
}

int hold_end(const struct roots *r, const char *interface, bool *ret_expired)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_mark m;
        bool marked, expired = false;
        int k;

        if (!interface_name_valid(interface))
                return -EINVAL;
        k = usb_disk_read(r, interface, false, &d);
        if (k == -ENODEV || k == 0)
                return hold_remove(r, interface);
        if (k < 0)
                return k;
        marked = hold_read(r, interface, &m) > 0 && attachment_id_same(m.attachment, facts_attachment_id(&d.facts));
        if (marked)
                expired = m.deadline <= now_boottime();
        /* The mark may be lost, or a process may have removed it and died before the trigger. That must not keep the disk. */
        else if (!any_block(&d, told_held, r))
                return 0;

        k = hold_release(r, &d.facts);
        /* Even if that failed: a mark holds nothing after its deadline, or if it cannot be read. */
        if (k < 0 && hold_in_force(r, &d.facts, now_boottime(), NULL))
                return k;
        hold_rescue(r, &d.facts);
        k = trigger_add(r, d.luns, d.n_luns);
        if (k < 0 && k != -ENOENT && k != -ENODEV)
                return k;
        if (ret_expired)
                *ret_expired = expired;
        return 1;
}
