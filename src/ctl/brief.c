/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/brief.h"

#include "common/gettext.h"
#include "core/explain.h"
#include "sys/io/clock.h"

char *brief_speed(unsigned mbps, char *ret, size_t size)
{
        if (mbps >= 1000 && mbps % 1000 == 0)
                (void) snprintf(ret, size, "%u Gbit/s", mbps / 1000);
        else
                (void) snprintf(ret, size, "%u Mbit/s", mbps);
        return ret;
}

char *brief_time(usec_t usec, char *ret, size_t size)
{
        unsigned seconds = (unsigned) ((usec + USEC_PER_SEC - 1) / USEC_PER_SEC);

        if (seconds < 60)
                (void) snprintf(ret, size, "%u s", seconds);
        else if (seconds < 2 * 3600)
                (void) snprintf(ret, size, "%u min", (seconds + 59) / 60);
        else if (seconds < 2 * 86400)
                (void) snprintf(ret, size, "%u h", (seconds + 3599) / 3600);
        else
                (void) snprintf(ret, size, _("%u days"), seconds / 86400);
        return ret;
}

/* Names the user that keeps it busy: "/mnt/a". A mount comes before the others. */
static const char *brief_user(const struct disk *d)
{
        const struct user *first = d->users;

        for (size_t i = d->n_users; i-- > 0;)
                if (d->users[i].kind == USER_MOUNT && d->users[i].where)
                        first = d->users + i;
        if (first->kind == USER_SWAP)
                return _("swap");
        return first->where ?: first->command ?: _("in use");
}

static void brief_waiting(const struct view *v, char ret[static BRIEF_MAX])
{
        const struct disk *d = &v->disk;

        if (d->inhibited)
                (void) copy_string(ret, BRIEF_MAX, _("waiting: inhibited"));
        else if (d->n_users == 0)
                (void) copy_string(ret, BRIEF_MAX, _("waiting"));
        else
                (void) snprintf(ret, BRIEF_MAX, _("waiting: %s"), brief_user(d));
        if (!d->inhibited && d->n_users > 1)
                text_add(ret, BRIEF_MAX, " +%zu", d->n_users - 1);
}

/* word: "trial" or "held". */
static void brief_ending(const struct view *v, const char *word, char ret[static BRIEF_MAX])
{
        usec_t now = now_boottime();
        char left[32];

        (void) copy_string(ret, BRIEF_MAX, word);
        if (v->ends > now)
                text_add(ret, BRIEF_MAX, _(", %s left"),
                         brief_time(v->ends - now, left, sizeof(left)));
}

static const char *brief_settled(const struct view *v)
{
        const struct disk *d = &v->disk;

        if (d->lease[0])
                return _("leased");
        if (d->cancelled)
                return _("cancelled");
        if (d->unattended)
                return _("needs uasd");
        if (v->diagnosis[0])
                return _("errors");
        if (d->decision.reason == REASON_DISTRUSTED || d->decision.reason == REASON_TRIAL_FAILED)
                return _("distrusted");
        if (facts_slow_link(&d->facts))
                return _("slow link");
        return _("ok");
}

char *brief_state(const struct view *v, char ret[static BRIEF_MAX])
{
        const char *words = "";

        switch (v->disk.state) {
        case STATE_SETTLED:
                words = brief_settled(v);
                break;
        case STATE_HELD:
                brief_ending(v, _("held"), ret);
                return ret;
        case STATE_WAITING:
                brief_waiting(v, ret);
                return ret;
        case STATE_SWITCHING:
                words = _("switching");
                break;
        case STATE_TRIAL:
                brief_ending(v, _("trial"), ret);
                return ret;
        case STATE_FAILED:
                words = _("failed");
                break;
        case STATE_UNBOUND:
                words = _("no driver");
                break;
        case STATE_IGNORED:
                words = _("ignored");
                break;
        case STATE_INCAPABLE:
                words = v->disk.decision.reason == REASON_BAD_DESCRIPTORS ? _("unreadable")
                                                                          : _("BOT only");
                break;
        case _STATE_MAX:
                break;
        }
        (void) copy_string(ret, BRIEF_MAX, words);
        return ret;
}

bool brief_advice(const struct view *v)
{
        return view_is_slower(v) || facts_slow_link(&v->disk.facts) || v->diagnosis[0] ||
               v->disk.state == STATE_FAILED || v->disk.state == STATE_UNBOUND;
}
