/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/local.h"

#include <limits.h>

#include "client/client.h"
#include "common/need.h"
#include "core/config.h"
#include "core/machine.h"
#include "core/policy.h"
#include "sys/facts.h"
#include "sys/io/clock.h"
#include "sys/quirks/modules.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"
#include "sys/state/switch-record.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"

/* Once, however often the disks are read. */
static void local_warn_once(const char *file, int line, const char *what, void *data)
{
        static char **reported;
        static size_t n_reported;
        char text[PATH_MAX];

        (void) snprintf(text, sizeof(text), "%s:%i: %s", file, line, what);
        for (size_t i = 0; i < n_reported; i++)
                if (streq(reported[i], text))
                        return;
        log_warning("%s", text);
        (void) strv_push(&reported, &n_reported, text);
}

/* Without uasd no switch is wanted. disk.unattended has what uasd would do. */
static enum state derive_state(const struct roots *roots, const struct disk *d)
{
        uint64_t deadline;
        const struct standing s = {
                .switching = switch_at_work(roots, d->facts.interface),
                .held = hold_in_force(roots, &d->facts, now_boottime(), &deadline),
        };

        return state_derive(d, &s);
}

static void read_one(const struct roots *roots, const struct config *c, const char *interface,
                     struct views *views)
{
        _cleanup_(view_done) struct view v = {};
        struct attachment_mark mark = {};
        struct usb_disk u = {};
        int r;

        r = usb_disk_read(roots, interface, true, &u);
        if (r == -ENODEV || r == 0) /* unplugged meanwhile, or not a disk */
                return;
        if (r < 0) { /* the others are still shown */
                log_warning("%s cannot be read: %s", interface, strerror(-r));
                return;
        }
        v.disk.facts = u.facts;
        (void) copy_string(v.disk.host, sizeof(v.disk.host), u.host);
        v.disk.luns = TAKE_PTR(u.luns);
        v.disk.n_luns = u.n_luns;
        u.n_luns = 0;
        usb_disk_done(&u);

        v.disk.outcome.code = -1;
        facts_complete(roots, c, &v.disk.facts);
        facts_complete_module(roots, &v.disk.facts);
        decide(&v.disk.facts, &v.disk.decision);
        (void) attachment_read(roots, &v.disk.facts, &mark);
        v.disk.cancelled = mark.cancelled && decision_wants_switch(&v.disk.facts, &v.disk.decision);
        v.disk.unattended =
                decision_wants_switch(&v.disk.facts, &v.disk.decision) && !v.disk.cancelled;
        v.disk.state = derive_state(roots, &v.disk);
        views_add(views, &v);
}

static void find_users(const struct roots *roots, struct views *views)
{
        _cleanup_free_ struct users_of *of = need(calloc(views->n + 1, sizeof(*of)));
        int r;

        for (size_t i = 0; i < views->n; i++)
                of[i] = (struct users_of){.luns = views->list[i].disk.luns,
                                          .n_luns = views->list[i].disk.n_luns};
        /* Only root sees the open files of all processes. */
        r = users_find_each(roots, of, views->n, geteuid() == 0);
        for (size_t i = 0; i < views->n; i++) {
                struct view *v = &views->list[i];

                v->users_error = r;
                v->disk.users = of[i].users;
                v->disk.n_users = of[i].n_users;
        }
}

int local_read(const struct roots *roots, bool users, struct views *ret)
{
        _cleanup_strv_ char **interfaces = NULL;
        _cleanup_(views_done) struct views views = {};
        _cleanup_(config_done) struct config c;
        int r;

        config_init(&c);
        r = conf_load(roots, &c, local_warn_once, NULL);
        if (r < 0)
                return r;
        r = usb_disk_enumerate(roots, &interfaces);
        if (r < 0)
                return r;
        for (char **i = interfaces; i && *i; i++)
                read_one(roots, &c, *i, &views);
        if (users)
                find_users(roots, &views);
        for (size_t i = 0; i < views.n; i++)
                view_describe(&views.list[i]);
        views_sort(&views);
        *ret = TAKE_STRUCT(views);
        return 0;
}

static enum uasd_exit plan_judge(const struct view *v, const struct facts *f,
                                 const struct decision *d)
{
        if (!decision_wants_switch(f, d))
                return UASD_EXIT_OK;
        if (d->target == DRIVER_UAS && f->uas_kept_away) /* uasd-switch cannot load uas */
                return UASD_EXIT_FAILED;
        /* If the users are unknown, the disk does not count as free. */
        if (v->disk.n_users > 0 || v->users_error < 0)
                return UASD_EXIT_DEFERRED;
        return UASD_EXIT_OK;
}

void plan_switch(const struct view *v, enum driver target, bool force, struct plan *ret)
{
        struct facts f = v->disk.facts;
        struct bridge b;

        *ret = (struct plan){};
        refuse_switch(&f, target, force, &ret->refusal);
        force = force || (target == f.override_target && f.override_forced);
        f.override_target = target;
        f.override_forced = force;
        decide(&f, &ret->decision);
        ret->code = ret->refusal.code;
        if (ret->code == UASD_EXIT_OK)
                ret->code = plan_judge(v, &f, &ret->decision);
        facts_bridge(&f, &b);
        if (decision_wants_switch(&f, &ret->decision))
                (void) quirks_entry(f.quirks, &b, ret->decision.target, ret->quirk);
}
