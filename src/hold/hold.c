/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/hold.h"

#include <fcntl.h>
#include <sys/param.h>

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

/* Returns true if udev has announced a disk or partition in this way, or in any way
 * (KNOWN_AS_NOTHING). */
static bool hold_any_known(const struct roots *roots, const struct usb_disk *d, enum known_as way)
{
        for (size_t i = 0; i < d->n_luns; i++)
                FOREACH_NODE (b, d->luns + i) {
                        enum known_as now = block_known_as(roots, b);

                        if (now != KNOWN_AS_NOTHING && (!way || now == way))
                                return true;
                }
        return false;
}

bool hold_untouched(const struct roots *roots, const struct usb_disk *d)
{
        struct hold_mark before = {};

        if (hold_read(roots, d->facts.interface, &before) < 0 ||
            attachment_id_same(before.attachment, facts_attachment_id(&d->facts)))
                return false; /* it was held before */
        return !hold_any_known(roots, d, KNOWN_AS_NOTHING) &&
               users_any(roots, d->luns, d->n_luns) == 0;
}

/* The timer comes first: without a timer there is no hold. It fires when the mark has expired,
 * never before. */
static bool hold_begin(const struct roots *roots, const struct facts *f,
                       const struct hold_limits *l, hold_arm_fn arm)
{
        struct hold_mark m = {
                .attachment = facts_attachment_id(f),
                .deadline = now_boottime() + l->hold,
        };

        return arm(f->interface) >= 0 && hold_write(roots, f->interface, &m) >= 0;
}

/* Returns true if the configuration allows holds. */
static bool hold_load_config(const struct roots *roots, struct config *ret)
{
        config_init(ret);
        return conf_load(roots, ret, NULL, NULL) >= 0 && ret->hold_usec > 0;
}

/* Only here policy and configuration count. */
static bool hold_is_wanted(const struct roots *roots, struct facts *f)
{
        _cleanup_(config_done) struct config c;
        struct decision decision;

        if (!hold_load_config(roots, &c))
                return false;
        facts_complete(roots, &c, f);
        decide(f, &decision);
        return decision_wants_switch(f, &decision);
}

static bool hold_begins(const struct roots *roots, struct usb_disk *d, hold_arm_fn arm)
{
        struct hold_limits limits;

        if (in_initramfs(roots))
                return users_any(roots, d->luns, d->n_luns) == 0 &&
                       hold_is_wanted(roots, &d->facts);
        if (limits_read(roots, &limits) >= 0 && hold_untouched(roots, d) &&
            hold_is_wanted(roots, &d->facts) && hold_begin(roots, &d->facts, &limits, arm))
                return true;
        /* It began before, perhaps just now by the event of another LUN. */
        return hold_in_force(roots, &d->facts, now_boottime(), NULL);
}

static void hold_wait_for_switch(const struct roots *roots, const struct facts *f)
{
        usec_t deadline = UINT64_MAX, now = now_boottime();
        _cleanup_(config_done) struct config c;

        if (!hold_load_config(roots, &c))
                return;
        (void) hold_in_force(roots, f, now, &deadline);
        (void) switch_await(roots, f->interface, awake_in(MIN(AWAIT_USEC, deadline - now)));
}

int hold_decide(const struct roots *roots, const struct block_event *e, hold_arm_fn arm,
                struct hold_answer *ret)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_answer answer;
        int r;

        r = hold_ask(roots, e, false, &d, &answer);
        if (r == HOLD_MUST_WAIT) {
                hold_wait_for_switch(roots, &d.facts);
                usb_disk_done(&d);
                r = hold_ask(roots, e, true, &d, &answer);
        }
        if (r < 0)
                return r;
        if (r == HOLD_MAY_BEGIN)
                answer.hold = hold_begins(roots, &d, arm);
        *ret = answer;
        return 0;
}

/*
 * If uasd-switch was stopped between the two drivers, the kernel chooses a driver for the disk, so
 * that the programs that wait for it get it. Without its record that uasd-switch ends as soon as it
 * wakes up.
 */
void hold_rescue(const struct roots *roots, const struct facts *f)
{
        if (f->driver != DRIVER_NONE || !switch_recorded(roots, f->interface))
                return;
        (void) switch_record_remove(roots, f->interface);
        (void) attr_write(roots->sys, SYSFS_DRIVERS_PROBE, f->interface);
}

int hold_end(const struct roots *roots, const char *interface, bool *ret_expired)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_mark m = {};
        bool marked, expired;
        int r;

        if (!interface_name_valid(interface))
                return -EINVAL;
        r = usb_disk_read(roots, interface, false, &d);
        if (r == -ENODEV || r == 0)
                return hold_remove(roots, interface);
        if (r < 0)
                return r;
        (void) hold_read(roots, interface, &m);
        marked = attachment_id_same(m.attachment, facts_attachment_id(&d.facts));
        expired = marked && m.deadline <= now_boottime();
        /* The mark may be lost, or a process may have removed it and died before the trigger. That
         * must not keep the disk. */
        if (!marked && !hold_any_known(roots, &d, KNOWN_AS_HELD))
                return 0;

        r = hold_release(roots, &d.facts);
        /* Even if that failed: a mark holds nothing after its deadline, or if it cannot be read. */
        if (r < 0 && hold_in_force(roots, &d.facts, now_boottime(), NULL))
                return r;
        hold_rescue(roots, &d.facts);
        r = trigger_add(roots, d.luns, d.n_luns);
        if (r < 0 && r != -ENOENT && r != -ENODEV)
                return r;
        if (ret_expired)
                *ret_expired = expired;
        return 1;
}
