/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/drops.h"

#include "common/util.h"
#include "core/machine.h"

static struct dropping *find(struct drops *d, const char *port)
{
        for (size_t i = 0; i < ELEMENTSOF(d->ports); i++)
                if (streq(d->ports[i].port, port))
                        return d->ports + i;
        return NULL;
}

/* Returns a free entry, or that of the port with the oldest event. */
static struct dropping *oldest(struct drops *d)
{
        struct dropping *p = d->ports;

        for (size_t i = 1; i < ELEMENTSOF(d->ports); i++)
                if (d->ports[i].seen < p->seen)
                        p = d->ports + i;
        return p;
}

static bool is_same(const struct dropping *p, const struct facts *f)
{
        return p->vid == f->vid && p->pid == f->pid && streq(p->serial, f->serial);
}

/* No event reports the wakeup: the first disk that comes or goes shows it. If that is late, one drop too few is counted. */
static bool just_woken(struct drops *d, usec_t now, usec_t asleep)
{
        if (d->begun && asleep >= d->asleep + ASLEEP_LEAST_USEC)
                d->woken = now;
        if (!d->begun || asleep > d->asleep)
                d->asleep = asleep;
        d->begun = true;
        return d->woken && now < d->woken + DROPS_WOKEN_USEC;
}

void drops_gone(struct drops *d, const struct facts *f, bool explained, usec_t now, usec_t asleep)
{
        struct dropping *p = find(d, f->port);
        bool woken = just_woken(d, now, asleep);

        if (p && is_same(p, f)) {
                if (p->devnum == f->devnum) /* another interface of the same device was already counted */
                        return;
        } else {
                if (!p)
                        p = oldest(d);
                *p = (struct dropping){.vid = f->vid, .pid = f->pid};
                memcpy(p->port, f->port, sizeof(p->port));
                memcpy(p->serial, f->serial, sizeof(p->serial));
        }
        p->devnum = f->devnum;
        p->seen = now;
        p->away = !explained && !woken;
}

static unsigned add(struct dropping *p, usec_t now)
{
        if (p->n > 0 && now > p->at[p->n - 1] + DROPS_MEMORY_USEC) {
                p->n = 0;
                p->told = false;
        }
        if (p->n == DROPS_ENOUGH)
                memmove(p->at, p->at + 1, --p->n * sizeof(*p->at));
        p->at[p->n++] = now;
        if (p->told || p->n < DROPS_ENOUGH || now > p->at[0] + DROPS_MEMORY_USEC)
                return 0;
        p->told = true;
        return p->n;
}

unsigned drops_came(struct drops *d, const struct facts *f, usec_t now, usec_t asleep)
{
        struct dropping *p = find(d, f->port);
        bool woken = just_woken(d, now, asleep), away;

        if (!p || !is_same(p, f))
                return 0;
        away = p->away;
        p->away = false;
        /* Only its interfaces disappeared, not the device: for example, a user removed its authorization or configuration. */
        if (p->devnum == f->devnum) {
                p->devnum = 0;
                return 0;
        }
        return away && !woken && now <= p->seen + DROP_USEC ? add(p, now) : 0;
}
