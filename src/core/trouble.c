/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/trouble.h"

#include "common/util.h"
#include "core/machine.h"

/* Only these weights make a burst. */
#define ENOUGH 4U
static const unsigned points[] = {[WEIGHT_MEDIUM] = 1, [WEIGHT_HIGH] = 2, [WEIGHT_FATAL] = ENOUGH};

void trouble_again(struct trouble *t)
{
        *t = (struct trouble){.excuse = t->excuse, .excuse_what = t->excuse_what, .excuse_blame = t->excuse_blame};
}

/* An event at a hub's port affects everything behind it. */
static bool port_leads_to(const char *port, const char *disk)
{
        const char *rest = startswith(disk, port);

        return rest && (*rest == '\0' || *rest == '.');
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

static void drop(struct trouble *t, size_t at)
{
        memmove(t->bursts + at, t->bursts + at + 1, (t->n - at - 1) * sizeof(*t->bursts));
        t->n--;
}

static void forget_old(struct trouble *t, usec_t usec)
{
        while (t->n > 0 && usec > t->bursts[0].last + MEMORY_USEC)
                drop(t, 0);
}

bool trouble_pending(struct trouble *t, usec_t usec)
{
        forget_old(t, usec);
        return t->n > 0;
}

static bool belongs(const struct burst *b, const struct sign *s, usec_t usec)
{
        /* Signs of a bad cable do not make a bridge's burst heavier. */
        return b->blame == s->blame && usec <= b->last + BURST_GAP_USEC &&
               usec <= b->first + (s->follows ? EPISODE_MOST_USEC : BURST_MOST_USEC);
}

/* Returns true for a new burst, or one that has become heavier. */
static bool add(struct trouble *t, const struct sign *s, usec_t usec)
{
        for (size_t i = t->n; i-- > 0;) {
                struct burst *b = t->bursts + i;

                if (!belongs(b, s, usec))
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
        t->bursts[t->n++] = (struct burst){usec, usec, s->blame, s->weight, s->what};
        return true;
}

static bool excused(const struct trouble *t, usec_t usec)
{
        return t->excuse_what && usec <= t->excuse + EXCUSE_USEC;
}

/* A bridge is not to blame for a bad port, nor for signs shortly before the port was reported. */
static void excuse(struct trouble *t, const struct sign *s, usec_t usec)
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
                sum += points[b->weight];
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

void trouble_take(struct trouble *t, const struct sign *s, usec_t usec, struct finding *ret)
{
        struct finding f = {.finding = FINDING_NONE};

        forget_old(t, usec);
        if (s->weight == WEIGHT_NEW)
                trouble_again(t);
        else if (s->weight == WEIGHT_GONE)
                t->gone = true;
        else if (s->weight == WEIGHT_SLEEP || s->weight == WEIGHT_AWAKE)
                t->asleep = s->weight == WEIGHT_SLEEP;
        else if (t->gone || (t->asleep && s->blame == BLAME_BRIDGE && s->weight == WEIGHT_MEDIUM))
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

/* ---- kept lines ---- */

static const char *const weights[] = {
        [WEIGHT_MEDIUM] = "light",
        [WEIGHT_HIGH] = "heavy",
        [WEIGHT_FATAL] = "fatal",
};

char *trouble_text(const struct trouble *t, const char *key, char ret[static TROUBLE_TEXT_MAX])
{
        ret[0] = '\0';
        for (size_t i = 0; i < t->n; i++) {
                const struct burst *b = t->bursts + i;

                text_add(ret, TROUBLE_TEXT_MAX, "%s=burst %llu %llu %s %s %s\n", key, (unsigned long long) b->first,
                         (unsigned long long) b->last, blame_to_string(b->blame), weights[b->weight], b->what);
        }
        if (t->excuse_what)
                text_add(ret, TROUBLE_TEXT_MAX, "%s=excuse %llu %s %s\n", key, (unsigned long long) t->excuse,
                         blame_to_string(t->excuse_blame), t->excuse_what);
        if (t->told != BLAME_NONE)
                text_add(ret, TROUBLE_TEXT_MAX, "%s=told %s\n", key, blame_to_string(t->told));
        text_add(ret, TROUBLE_TEXT_MAX, "%s=timeouts %llu\n", key, (unsigned long long) t->timeouts);
        return ret;
}

static bool usec_of(const char *digits, usec_t *ret)
{
        unsigned long long v;

        if (parse_uint(digits, 10, UINT64_MAX, &v) < 0)
                return false;
        *ret = v;
        return true;
}

static bool blame_of(const char *word, enum blame *ret)
{
        int b = blame_from_string(word);

        *ret = b > BLAME_NONE ? (enum blame) b : BLAME_NONE;
        return b > BLAME_NONE;
}

int trouble_take_line(struct trouble *t, const char *line)
{
        struct trouble k = *t;
        struct burst b;
        char first[24], last[24], blame[16], weight[16];
        int at = 0, w;

        if (sscanf(line, "burst %23s %23s %15s %15s %n", first, last, blame, weight, &at) == 4) {
                w = table_find(weights, ELEMENTSOF(weights), weight);
                if (k.n == BURSTS_MAX || !usec_of(first, &b.first) || !usec_of(last, &b.last) || !blame_of(blame, &b.blame) ||
                    w < 0 || !(b.what = sign_what(line + at)))
                        return -EINVAL;
                b.weight = (enum weight) w;
                k.bursts[k.n++] = b;
        } else if (sscanf(line, "excuse %23s %15s %n", first, blame, &at) == 2) {
                if (!usec_of(first, &k.excuse) || !blame_of(blame, &k.excuse_blame) || !(k.excuse_what = sign_what(line + at)))
                        return -EINVAL;
        } else if (sscanf(line, "told %15s", blame) == 1) {
                if (!blame_of(blame, &k.told))
                        return -EINVAL;
        } else if (sscanf(line, "timeouts %23s", first) != 1 || !usec_of(first, &k.timeouts))
                return -EINVAL;
        *t = k;
        return 0;
}

/* ---- disks that drop off the bus ---- */

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
        d->asleep = asleep > d->asleep ? asleep : d->asleep;
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

static unsigned add_drop(struct dropping *p, usec_t now)
{
        if (p->n > 0 && now > p->at[p->n - 1] + DROPS_MEMORY_USEC)
                p->told = false;
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
        return away && !woken && now <= p->seen + DROP_USEC ? add_drop(p, now) : 0;
}
