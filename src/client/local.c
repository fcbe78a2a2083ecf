/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/local.h"

#include <limits.h>

#include "common/exit-codes.h"
#include "common/need.h"
#include "core/config.h"
#include "core/disk-words.h"
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
static enum state derive_state(const struct roots *roots, const struct disk *d, usec_t *ret_ends)
{
        usec_t deadline = 0;
        const struct standing s = {
                .switching = switch_at_work(roots, d->facts.interface),
                .held = hold_in_force(roots, &d->facts, now_boottime(), &deadline),
        };

        *ret_ends = s.held ? deadline : 0;
        return state_derive(d, &s);
}

static int read_facts(const struct roots *roots, const char *interface, struct disk *ret)
{
        struct usb_disk u = {};
        int r = usb_disk_read(roots, interface, true, &u);

        if (r < 0 && r != -ENODEV) /* the others are still shown */
                log_warning("%s cannot be read: %s", interface, strerror(-r));
        if (r <= 0) /* unplugged meanwhile, or not a disk */
                return r;
        ret->facts = u.facts;
        (void) copy_string(ret->host, sizeof(ret->host), u.host);
        ret->luns = TAKE_PTR(u.luns);
        ret->n_luns = u.n_luns;
        return r;
}

static void local_complete(const struct roots *roots, const struct config *c, struct view *v)
{
        struct disk *d = &v->disk;
        struct attachment_mark mark = {};

        facts_complete(roots, c, &d->facts);
        facts_complete_module(roots, c->module, &d->facts);
        decide(&d->facts, &d->decision);
        (void) attachment_read(roots, &d->facts, &mark);
        d->cancelled = mark.cancelled && decision_wants_switch(&d->facts, &d->decision);
        d->unattended = decision_wants_switch(&d->facts, &d->decision) && !d->cancelled;
        d->state = derive_state(roots, d, &v->ends);
}

static void read_one(const struct roots *roots, const struct config *c, const char *interface,
                     enum detail detail, struct courses *courses, struct views *views)
{
        _cleanup_(view_done) struct view v = {.disk.outcome.code = -1};
        struct course *course = NULL;

        if (courses)
                course = courses_find(courses, interface);
        /* The names of a disk that uasd does not know yet may take as long as the device hangs. */
        if (courses && !course)
                return;
        if (read_facts(roots, interface, &v.disk) <= 0)
                return;
        if (course && detail == DETAIL_BRIEF)
                facts_recall_attachment(roots, &v.disk.facts);
        else
                local_complete(roots, c, &v);
        if (course)
                view_take_course(&v, course, true);
        if (course && detail == DETAIL_BRIEF)
                (void) disk_diagnosis(&v.disk, v.diagnosis, sizeof(v.diagnosis));
        else
                view_describe(&v);
        if (course) {
                /* of a newer uasd: a word that is unknown here */
                memcpy(v.reason_id, course->reason_id, sizeof(v.reason_id));
                memcpy(v.former, course->former, sizeof(v.former));
        }
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
                view_describe(v);
        }
}

int local_read(const struct roots *roots, enum detail detail, struct courses *courses,
               struct views *ret)
{
        _cleanup_strv_ char **interfaces = NULL;
        _cleanup_(views_done) struct views views = {};
        _cleanup_(config_done) struct config c;
        int r;

        config_init(&c);
        r = conf_load(roots, &c, courses ? NULL : local_warn_once, NULL);
        if (r < 0)
                return r;
        r = usb_disk_enumerate(roots, &interfaces);
        if (r < 0)
                return r;
        for (char **i = interfaces; i && *i; i++)
                read_one(roots, &c, *i, detail, courses, &views);
        if (!courses && detail == DETAIL_ALL)
                find_users(roots, &views);
        views_sort(&views);
        *ret = TAKE_STRUCT(views);
        return 0;
}

int local_refresh(const struct roots *roots, struct remote *remote, struct views *ret)
{
        _cleanup_(courses_done) struct courses courses = {};
        int r = remote_read(remote, &courses);

        if (r < 0)
                return r;
        return local_read(roots, DETAIL_NO_USERS, &courses, ret);
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
