/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

#include <assert.h>

#include "common/util.h"
#include "core/policy-table.h"

void facts_bridge(const struct facts *f, struct bridge *ret)
{
        *ret = (struct bridge){
                .vid = f->vid,
                .pid = f->pid,
                .bcd = f->bcd,
                .speed_mbps = f->speed_mbps,
                .status_streams = f->caps.status_streams,
                .max_power = f->caps.max_power,
                .manufacturer = f->manufacturer,
                .product = f->product,
        };
}

char *facts_attachment(const struct facts *f, char ret[static ATTACHMENT_MAX])
{
        (void) snprintf(ret, ATTACHMENT_MAX, "%s@%u-%u", f->interface, f->busnum, f->devnum);
        return ret;
}

bool facts_twins(const struct facts *a, const struct facts *b)
{
        return a->vid == b->vid && a->pid == b->pid && streq(a->serial, b->serial) && !streq(a->port, b->port);
}

void policy_input_read(const struct facts *f, struct policy_input *ret)
{
        char others[QUIRKS_MAX + 1];
        struct bridge b;
        struct policy_input in = {.f = f};

        facts_bridge(f, &b);
        kernel_flags(&b, &in.kernel);
        /* Our own entry repeats the policy: it is not a statement of its own. */
        (void) copy_string(others, sizeof(others), f->quirks);
        if (f->quirks_own[0])
                (void) quirks_remove(f->quirks, f->quirks_own, others);
        in.entry = quirks_find(others, f->vid, f->pid, in.letters) > 0;
        in.entry_ignores = strchr(in.letters, 'u');
        in.kernel_ignores = !in.entry && in.kernel.ignore_uas;

        /* A policy with --force goes before an override without it. */
        if ((f->override_target == DRIVER_UAS || f->override_target == DRIVER_USB_STORAGE) &&
            (f->override_forced || !f->policy_forced || f->policy == POLICY_AUTO))
                in.override = f->override_target;
        in.wish = in.override;
        in.forced = in.override ? f->override_forced : f->policy_forced;
        if (!in.wish && f->policy == POLICY_UAS)
                in.wish = DRIVER_UAS;
        if (!in.wish && f->policy == POLICY_USB_STORAGE)
                in.wish = DRIVER_USB_STORAGE;
        *ret = in;
}

void decide(const struct facts *f, struct decision *ret)
{
        const struct decision_row *row = policy_rows;
        struct policy_input in;

        policy_input_read(f, &in);
        while (!row->fits(&in))
                row++; /* the last row always fits */
        *ret = (struct decision){
                .target = row->choose ? row->choose(&in) : row->target,
                .rest = row->rest == STATE_SETTLED && f->driver == DRIVER_NONE ? STATE_UNBOUND : row->rest,
                .reason = row->reason,
        };
        assert(ret->target != DRIVER_OTHER);
        assert(ret->target != DRIVER_USB_STORAGE || f->caps.bot);
        assert(ret->target != DRIVER_UAS || (f->caps.uas && f->caps.pipes));
}

bool decision_wants_switch(const struct facts *f, const struct decision *d)
{
        return d->target != DRIVER_NONE && d->target != f->driver;
}

bool decision_flees(const struct facts *f, const struct decision *d)
{
        return f->distrusted && d->target == DRIVER_USB_STORAGE;
}

bool decision_fits_early(const struct facts *f, const struct decision *d, bool initramfs)
{
        if (!decision_wants_switch(f, d))
                return false;
        if (d->target == DRIVER_USB_STORAGE)
                return initramfs; /* later the disk is held, and at the latest PID 1 ends that */
        /* Without a driver it is about to get one: the kernel chooses the target anyway. */
        return f->trial_passed && f->driver != DRIVER_NONE;
}
