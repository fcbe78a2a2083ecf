/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

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

void look_at(const struct facts *f, struct look *ret)
{
        char others[QUIRKS_MAX + 1];
        struct bridge b;
        struct look l = {.f = f};

        facts_bridge(f, &b);
        kernel_flags(&b, &l.kernel);
        /* What we have put there ourselves says what policy said: it is nobody's word. */
        (void) copy_string(others, sizeof(others), f->quirks);
        if (f->quirks_own[0])
                (void) quirks_remove(f->quirks, f->quirks_own, others);
        l.entry = quirks_find(others, f->vid, f->pid, l.letters) > 0;
        l.entry_ignores = strchr(l.letters, 'u');
        l.kernel_ignores = !l.entry && l.kernel.ignore_uas;

        /* A policy that was set with --force outranks an override that was not. */
        if ((f->override_target == DRIVER_UAS || f->override_target == DRIVER_USB_STORAGE) &&
            (f->override_forced || !f->policy_forced || f->policy == POLICY_AUTO))
                l.override = f->override_target;
        l.wish = l.override;
        l.forced = l.override ? f->override_forced : f->policy_forced;
        if (!l.wish && f->policy == POLICY_UAS)
                l.wish = DRIVER_UAS;
        if (!l.wish && f->policy == POLICY_USB_STORAGE)
                l.wish = DRIVER_USB_STORAGE;
        *ret = l;
}

void decide(const struct facts *f, struct decision *ret)
{
        const struct row *row = policy_rows;
        struct look l;

        look_at(f, &l);
        while (!row->fits(&l))
                row++; /* the last row fits always */
        *ret = (struct decision){
                .target = row->choose ? row->choose(&l) : row->target,
                .rest = row->rest == STATE_SETTLED && f->driver == DRIVER_NONE ? STATE_UNBOUND : row->rest,
                .reason = row->reason,
        };
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
                return initramfs; /* later there is a hold for it, that PID 1 ends if nobody else does */
        /* Without a driver it is about to get one: what is wanted is what the kernel does anyhow. */
        return f->trial_passed && f->driver != DRIVER_NONE;
}
