/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/trouble.h"

#include <sys/param.h>

#include "common/util.h"
#include "core/machine.h"

/* Only these weights make a burst. */
#define ENOUGH 4U
static const unsigned points[] = {[WEIGHT_MEDIUM] = 1, [WEIGHT_HIGH] = 2, [WEIGHT_FATAL] = ENOUGH};

void trouble_again(struct trouble *t)
{
        *t = (struct trouble){.driver = t->driver,
                              .trust = t->trust,
                              .excuse = t->excuse,
                              .excuse_what = t->excuse_what,
                              .excuse_blame = t->excuse_blame};
}

void trouble_driver(struct trouble *t, enum driver driver, enum trust trust)
{
        t->driver = driver;
        t->trust = trust;
}

/* An event at a hub's port affects everything behind it. "2-0" is the root hub of bus 2. */
static bool port_is_above(const char *port, const char *disk)
{
        size_t bus = strcspn(port, "-");
        const char *rest = startswith(disk, port);

        if (streq(port + bus, "-0"))
                return strncmp(port, disk, bus + 1) == 0;
        return rest && *rest == '.';
}

bool sign_about(const struct sign *s, const struct facts *f, const char *host, struct sign *ret)
{
        bool above = (s->place == PLACE_PORT || s->place == PLACE_DEVICE) && s->name[0] &&
                     port_is_above(s->name, f->port);

        *ret = *s;
        switch (s->place) {
        case PLACE_HOST:
                return host[0] && streq(s->name, host);
        case PLACE_DEVICE:
                if (!above || s->blame != BLAME_BRIDGE || !s->follows)
                        return s->busnum == f->busnum && s->devnum == f->devnum;
                ret->blame = BLAME_HUB;
                ret->excuses = true;
                return true;
        case PLACE_PORT:
                if (!above || (s->blame != BLAME_POWER && s->blame != BLAME_HUB))
                        return streq(s->name, f->port);
                if (s->blame == BLAME_HUB && strchr(s->name, '-') &&
                    streq(strchr(s->name, '-'), "-0"))
                        ret->blame = BLAME_CONTROLLER;
                return true;
        case PLACE_CONTROLLER:
                return f->controller_device[0] && streq(s->name, f->controller_device);
        case PLACE_MACHINE:
                break;
        }
        return true;
}

static void burst_drop(struct trouble *t, size_t at)
{
        memmove(t->bursts + at, t->bursts + at + 1, (t->n - at - 1) * sizeof(*t->bursts));
        t->n--;
}

static void trouble_forget_old(struct trouble *t, usec_t usec)
{
        while (t->n > 0 && usec > t->bursts[0].last + MEMORY_USEC)
                burst_drop(t, 0);
}

bool trouble_pending(struct trouble *t, usec_t usec)
{
        trouble_forget_old(t, usec);
        return t->n > 0;
}

static bool burst_belongs(const struct burst *b, const struct sign *s, usec_t usec)
{
        /* Signs of a bad cable do not make a bridge's burst heavier. */
        if (b->blame != s->blame || b->driver != s->driver)
                return false;
        if (b->began && !b->reset)
                return usec <= b->began + HANDLING_WAIT_USEC;
        if (b->reset && (s->handling || s->follows))
                return usec <= b->reset + HANDLING_TESTS_USEC &&
                       (s->follows || usec <= b->last + HANDLING_NEXT_USEC);
        return usec <= b->last + BURST_GAP_USEC &&
               usec <= b->first + (s->follows ? EPISODE_MOST_USEC : BURST_MOST_USEC);
}

/* Returns true for a new burst, or one that has become heavier. */
static bool burst_add(struct trouble *t, const struct sign *s, usec_t usec)
{
        struct burst *b = NULL;
        bool news;

        for (size_t i = t->n; i-- > 0 && !b;)
                if (burst_belongs(t->bursts + i, s, usec))
                        b = t->bursts + i;
        news = !b || s->weight > b->weight;
        if (!b) {
                if (t->n == BURSTS_MAX)
                        burst_drop(t, 0);
                b = t->bursts + t->n++;
                *b = (struct burst){.first = usec, .driver = s->driver, .blame = s->blame};
        }
        if (news) {
                b->weight = s->weight;
                b->what = s->what;
        }
        b->last = MAX(b->last, usec);
        /* usb-storage resets the port by itself, mostly before the time-out is counted: its bursts
         * end at a pause. */
        if (s->handling && !b->began && s->driver != DRIVER_USB_STORAGE)
                b->began = usec;
        if (b->began && s->resets && !b->reset)
                b->reset = usec;
        return news;
}

static bool trouble_excused(const struct trouble *t, usec_t usec)
{
        return t->excuse_what && usec <= t->excuse + EXCUSE_USEC;
}

/* Only for these does the driver make a difference, or the port. */
static bool blame_excusable(enum blame b)
{
        return b == BLAME_BRIDGE || b == BLAME_UNKNOWN;
}

/* A device cannot be enumerated without power, or through a hub that does not answer. A bad place
 * of the disk garbles nothing. */
static bool blame_explained(const struct trouble *t, enum blame b, usec_t usec)
{
        bool port = t->excuse_blame == BLAME_POWER || t->excuse_blame == BLAME_HUB ||
                    t->excuse_blame == BLAME_CONTROLLER;

        return trouble_excused(t, usec) && (blame_excusable(b) || (b == BLAME_CABLE && port));
}

/* When the machine wakes up, the kernel may reset every device, and hubs answer late. */
static bool sign_is_of_sleep(const struct trouble *t, const struct sign *s)
{
        return t->asleep && s->weight == WEIGHT_MEDIUM &&
               (blame_excusable(s->blame) || s->blame == BLAME_CABLE || s->blame == BLAME_HUB);
}

/* A bridge is not to blame for a bad port, nor for signs shortly before the port was reported.
 * Returns true if there were any. */
static bool trouble_excuse(struct trouble *t, const struct sign *s, usec_t usec)
{
        size_t n = t->n;

        t->excuse = usec;
        t->excuse_what = s->what;
        t->excuse_blame = s->blame;
        for (size_t i = t->n; i-- > 0;)
                if (blame_excusable(t->bursts[i].blame) && t->bursts[i].last + EXCUSE_USEC >= usec)
                        burst_drop(t, i);
        return t->n < n;
}

static void finding_blame_once(struct trouble *t, struct finding *f, enum blame blame,
                               const char *what)
{
        f->finding = FINDING_BLAMED;
        if (t->told == blame)
                f->finding = FINDING_NONE;
        f->blame = t->told = blame;
        f->what = what;
}

/* Trouble of these causes stays with the disk and its place when the driver changes, so it was
 * there under uas as well. */
static bool trouble_clears(const struct trouble *t, enum blame b)
{
        return t->trust == TRUST_DISTRUSTED && t->driver == DRIVER_USB_STORAGE &&
               (b == BLAME_UNKNOWN || b == BLAME_DISK || b == BLAME_CABLE || b == BLAME_HUB);
}

static void trouble_weigh(struct trouble *t, const struct sign *s, bool news, struct finding *f)
{
        const struct burst *worst = NULL;
        unsigned sum = 0;

        f->blame = s->blame;
        f->what = s->what;
        for (size_t i = 0; i < t->n; i++) {
                const struct burst *b = t->bursts + i;

                if (b->blame != s->blame || b->driver != s->driver)
                        continue;
                sum += points[b->weight];
                f->bursts++;
                if (!worst || b->weight >= worst->weight)
                        worst = b;
        }
        if (!worst)
                return;
        f->fatal = worst->weight == WEIGHT_FATAL;
        if (sum < ENOUGH)
                f->finding = news ? FINDING_NOTED : FINDING_NONE;
        else if (s->blame == BLAME_BRIDGE) {
                f->finding = FINDING_BROKEN;
                f->what = worst->what;
                t->trust = TRUST_DISTRUSTED;
        } else if (trouble_clears(t, s->blame)) {
                f->finding = FINDING_CLEARED;
                f->what = worst->what;
                t->trust = TRUST_CLEARED;
                t->told = s->blame;
        } else
                finding_blame_once(t, f, s->blame, s->what);
}

/* The sign as it counts under the driver of the disk. */
static struct sign sign_under_driver(const struct trouble *t, const struct sign *s)
{
        struct sign own = *s;

        own.driver = DRIVER_UAS;
        if (t->driver == DRIVER_USB_STORAGE)
                own.driver = DRIVER_USB_STORAGE;
        if (own.blame == BLAME_BRIDGE &&
            (own.driver == DRIVER_USB_STORAGE || t->trust == TRUST_CLEARED))
                own.blame = BLAME_UNKNOWN;
        return own;
}

void trouble_take(struct trouble *t, const struct sign *sign, usec_t usec, struct finding *ret)
{
        struct finding f = {.finding = FINDING_NONE};
        struct sign own = sign_under_driver(t, sign), *s = &own;

        trouble_forget_old(t, usec);
        if (s->weight == WEIGHT_NEW) {
                trouble_again(t);
                t->driver = sign->driver ?: t->driver;
        } else if (s->weight == WEIGHT_GONE)
                t->gone = true;
        else if (s->weight == WEIGHT_SLEEP || s->weight == WEIGHT_AWAKE)
                t->asleep = s->weight == WEIGHT_SLEEP;
        else if (t->gone || sign_is_of_sleep(t, s)) {
                if (s->excuses)
                        (void) trouble_excuse(t, s, usec);
        } else if (s->excuses) {
                bool any = trouble_excuse(t, s, usec);

                if (s->weight == WEIGHT_FATAL || (s->weight == WEIGHT_AROUND && any))
                        finding_blame_once(t, &f, s->blame, s->what);
                else if (s->weight != WEIGHT_AROUND)
                        trouble_weigh(t, s, burst_add(t, s, usec), &f);
        } else if (blame_explained(t, s->blame, usec))
                finding_blame_once(t, &f, t->excuse_blame, t->excuse_what);
        else
                trouble_weigh(t, s, burst_add(t, s, usec), &f);
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

                text_add(ret, TROUBLE_TEXT_MAX, "%s=burst %llu %llu %llu %llu %s %s %s %s\n", key,
                         (unsigned long long) b->first, (unsigned long long) b->last,
                         (unsigned long long) b->began, (unsigned long long) b->reset,
                         driver_to_string(b->driver), blame_to_string(b->blame), weights[b->weight],
                         b->what);
        }
        if (t->excuse_what)
                text_add(ret, TROUBLE_TEXT_MAX, "%s=excuse %llu %s %s\n", key,
                         (unsigned long long) t->excuse, blame_to_string(t->excuse_blame),
                         t->excuse_what);
        if (t->told != BLAME_NONE)
                text_add(ret, TROUBLE_TEXT_MAX, "%s=told %s\n", key, blame_to_string(t->told));
        text_add(ret, TROUBLE_TEXT_MAX, "%s=timeouts %llu\n", key,
                 (unsigned long long) t->timeouts);
        return ret;
}

static bool trouble_take_usec(const char *digits, usec_t *ret)
{
        unsigned long long v;

        if (parse_uint(digits, 10, UINT64_MAX, &v) < 0)
                return false;
        *ret = v;
        return true;
}

static bool trouble_take_blame(const char *word, enum blame *ret)
{
        int b = blame_from_string(word);

        *ret = BLAME_NONE;
        if (b <= BLAME_NONE)
                return false;
        *ret = (enum blame) b;
        return true;
}

int trouble_take_line(struct trouble *t, const char *line)
{
        struct trouble k = *t;
        struct burst b;
        char first[24], last[24], began[24], reset[24], driver[16], blame[16], weight[16];
        enum blame cause;
        int at = 0, w, d;

        if (sscanf(line, "burst %23s %23s %23s %23s %15s %15s %15s %n", first, last, began, reset,
                   driver, blame, weight, &at) == 7) {
                w = table_find(weights, ELEMENTSOF(weights), weight);
                d = driver_from_string(driver);
                if (k.n == BURSTS_MAX || !trouble_take_usec(first, &b.first) ||
                    !trouble_take_usec(last, &b.last) || !trouble_take_usec(began, &b.began) ||
                    !trouble_take_usec(reset, &b.reset) ||
                    (d != DRIVER_UAS && d != DRIVER_USB_STORAGE) ||
                    !trouble_take_blame(blame, &cause) || w < 0 || !(b.what = sign_what(line + at)))
                        return -EINVAL;
                b.driver = (enum driver) d;
                b.blame = cause;
                b.weight = (enum weight) w;
                k.bursts[k.n++] = b;
        } else if (sscanf(line, "excuse %23s %15s %n", first, blame, &at) == 2) {
                if (!trouble_take_usec(first, &k.excuse) ||
                    !trouble_take_blame(blame, &k.excuse_blame) ||
                    !(k.excuse_what = sign_what(line + at)))
                        return -EINVAL;
        } else if (sscanf(line, "told %15s", blame) == 1) {
                if (!trouble_take_blame(blame, &k.told))
                        return -EINVAL;
        } else if (sscanf(line, "timeouts %23s", first) != 1 ||
                   !trouble_take_usec(first, &k.timeouts))
                return -EINVAL;
        *t = k;
        return 0;
}

/* ---- disks that drop off the bus ---- */

static struct dropping *dropping_find(struct drops *d, const char *port)
{
        for (size_t i = 0; i < ELEMENTSOF(d->ports); i++)
                if (streq(d->ports[i].port, port))
                        return d->ports + i;
        return NULL;
}

/* Returns a free entry, or that of the port with the oldest event. */
static struct dropping *dropping_oldest(struct drops *d)
{
        struct dropping *p = d->ports;

        for (size_t i = 1; i < ELEMENTSOF(d->ports); i++)
                if (d->ports[i].seen < p->seen)
                        p = d->ports + i;
        return p;
}

static bool dropping_is_same(const struct dropping *p, const struct facts *f)
{
        return p->vid == f->vid && p->pid == f->pid && streq(p->serial, f->serial);
}

/* No event reports the wakeup: the first disk that comes or goes shows it. If that is late, one
 * drop too few is counted. */
static bool drops_just_woken(struct drops *d, usec_t now, usec_t asleep)
{
        if (d->begun && asleep >= d->asleep + ASLEEP_LEAST_USEC)
                d->woken = now;
        d->asleep = MAX(d->asleep, asleep);
        d->begun = true;
        return d->woken && now < d->woken + DROPS_WOKEN_USEC;
}

void drops_gone(struct drops *d, const struct facts *f, bool explained, usec_t now, usec_t asleep)
{
        struct dropping *p = dropping_find(d, f->port);
        bool woken = drops_just_woken(d, now, asleep);

        if (p && dropping_is_same(p, f)) {
                if (p->devnum ==
                    f->devnum) /* another interface of the same device was already counted */
                        return;
        } else {
                if (!p)
                        p = dropping_oldest(d);
                *p = (struct dropping){.vid = f->vid, .pid = f->pid};
                memcpy(p->port, f->port, sizeof(p->port));
                memcpy(p->serial, f->serial, sizeof(p->serial));
        }
        p->devnum = f->devnum;
        p->seen = now;
        p->away = !explained && !woken;
}

static unsigned dropping_add(struct dropping *p, usec_t now)
{
        if (p->n > 0 && now > p->at[p->n - 1] + DROPS_MEMORY_USEC)
                p->reported = false;
        if (p->n == DROPS_ENOUGH)
                memmove(p->at, p->at + 1, --p->n * sizeof(*p->at));
        p->at[p->n++] = now;
        if (p->reported || p->n < DROPS_ENOUGH || now > p->at[0] + DROPS_MEMORY_USEC)
                return 0;
        p->reported = true;
        return p->n;
}

bool drops_dropped(const struct drops *d, const struct facts *f, usec_t now)
{
        for (size_t i = 0; i < ELEMENTSOF(d->ports); i++) {
                const struct dropping *p = d->ports + i;

                if (streq(p->port, f->port) && dropping_is_same(p, f))
                        return p->n > 0 && now <= p->at[p->n - 1] + DROPS_MEMORY_USEC;
        }
        return false;
}

unsigned drops_came(struct drops *d, const struct facts *f, usec_t now, usec_t asleep)
{
        struct dropping *p = dropping_find(d, f->port);
        bool woken = drops_just_woken(d, now, asleep), away;

        if (!p || !dropping_is_same(p, f))
                return 0;
        away = p->away;
        p->away = false;
        /* Only its interfaces disappeared, not the device: for example, a user removed its
         * authorization or configuration. */
        if (p->devnum == f->devnum) {
                p->devnum = 0;
                return 0;
        }
        if (!away || woken || now > p->seen + DROP_USEC)
                return 0;
        return dropping_add(p, now);
}
