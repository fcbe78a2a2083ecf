/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/trouble.h"

#include "common/util.h"

#define ENOUGH 4U

void trouble_init(struct trouble *t)
{
        *t = (struct trouble){ 0 };
}

/* What happens at a hub's port happens to everything behind it. */
static bool port_leads_to(const char *port, const char *disk)
{
        size_t n = strlen(port);

        return strncmp(port, disk, n) == 0 && (disk[n] == '\0' || disk[n] == '.');
}

bool sign_is_about(const struct sign *s, const struct facts *f, const char *host)
{
        switch (s->place) {
        case PLACE_HOST:
                return host[0] && streq(s->name, host);
        case PLACE_DEVICE:
                return s->busnum == f->busnum && s->devnum == f->devnum;
        case PLACE_PORT:
                return s->blame == BLAME_POWER ? port_leads_to(s->name, f->port) : streq(s->name, f->port);
        case PLACE_CONTROLLER:
                return f->controller_device[0] && streq(s->name, f->controller_device);
        case PLACE_MACHINE:
                break;
        }
        return true;
}

static unsigned points(enum weight w)
{
        switch (w) {
        case WEIGHT_MEDIUM:
                return 1;
        case WEIGHT_HIGH:
                return 2;
        case WEIGHT_FATAL:
                return ENOUGH;
        case WEIGHT_NONE:
        case WEIGHT_NEW:
        case WEIGHT_GONE:
                break;
        }
        return 0;
}

static void drop(struct trouble *t, size_t at)
{
        memmove(t->bursts + at, t->bursts + at + 1, (t->n - at - 1) * sizeof(*t->bursts));
        t->n--;
}

static void forget_old(struct trouble *t, uint64_t usec)
{
        while (t->n > 0 && usec > t->bursts[0].last + MEMORY_USEC)
                drop(t, 0);
}

bool trouble_pending(struct trouble *t, uint64_t usec)
{
        forget_old(t, usec);
        return t->n > 0;
}

/* Of one kind of blame alone: signs of the cable do not make a bridge's burst heavier. Returns true for a new burst. */
static bool add(struct trouble *t, const struct sign *s, uint64_t usec)
{
        for (size_t i = t->n; i-- > 0;) {
                struct burst *b = t->bursts + i;

                if (b->blame != s->blame || usec > b->last + BURST_GAP_USEC)
                        continue;
                b->last = usec > b->last ? usec : b->last;
                if (s->weight <= b->weight)
                        return false;
                b->weight = s->weight;
                b->what = s->what;
                return true;
        }
        if (t->n == BURSTS_MAX)
                drop(t, 0);
        t->bursts[t->n++] = (struct burst){ usec, usec, s->blame, s->weight, s->what };
        return true;
}

static bool excused(const struct trouble *t, uint64_t usec)
{
        return t->excuse_what && usec <= t->excuse + EXCUSE_USEC;
}

/* What a bad port did to the bridge is not held against the bridge, also what came just before it was told. */
static void excuse(struct trouble *t, const struct sign *s, uint64_t usec)
{
        t->excuse = usec;
        t->excuse_what = s->what;
        t->excuse_blame = s->blame;
        for (size_t i = t->n; i-- > 0;)
                if (t->bursts[i].blame == BLAME_BRIDGE && t->bursts[i].last + EXCUSE_USEC >= usec)
                        drop(t, i);
}

static void blame_once(struct trouble *t, struct finding *f, enum blame blame, const char *what)
{
        f->finding = t->told == blame ? FINDING_NONE : FINDING_BLAMED;
        f->blame = t->told = blame;
        f->what = what;
}

static void judge(struct trouble *t, const struct sign *s, bool news, struct finding *f)
{
        const struct burst *worst = NULL;
        unsigned sum = 0;

        f->blame = s->blame;
        f->what = s->what;
        for (size_t i = 0; i < t->n; i++) {
                const struct burst *b = t->bursts + i;

                if (b->blame != s->blame)
                        continue;
                sum += points(b->weight);
                f->bursts++;
                if (!worst || b->weight >= worst->weight)
                        worst = b;
        }
        if (sum < ENOUGH)
                f->finding = news ? FINDING_NOTED : FINDING_NONE;
        else if (s->blame != BLAME_BRIDGE)
                blame_once(t, f, s->blame, s->what);
        else {
                f->finding = FINDING_BROKEN;
                f->fatal = worst->weight == WEIGHT_FATAL;
                f->what = worst->what;
        }
}

void trouble_take(struct trouble *t, const struct sign *s, uint64_t usec, struct finding *ret)
{
        struct finding f = { .finding = FINDING_NONE };

        forget_old(t, usec);
        if (s->weight == WEIGHT_NEW)
                trouble_init(t);
        else if (s->weight == WEIGHT_GONE)
                t->gone = true;
        else if (t->gone || s->weight == WEIGHT_NONE)
                f.finding = FINDING_NONE;
        else if (s->excuses) {
                excuse(t, s, usec);
                blame_once(t, &f, s->blame, s->what);
        } else if (s->blame == BLAME_BRIDGE && excused(t, usec))
                blame_once(t, &f, t->excuse_blame, t->excuse_what);
        else
                judge(t, s, add(t, s, usec), &f);
        *ret = f;
}
