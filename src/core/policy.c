/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

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
