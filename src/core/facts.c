/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/facts.h"

#include "common/util.h"

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

void facts_copy_strings(const struct facts *from, struct facts *to)
{
        memcpy(to->manufacturer, from->manufacturer, sizeof(to->manufacturer));
        memcpy(to->product, from->product, sizeof(to->product));
        memcpy(to->serial, from->serial, sizeof(to->serial));
}
