/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/exit-codes.h"
#include "common/log.h"
#include "daemon/manager.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/udev/trigger.h"

/* What users ask for: written down first, so that it outlives this process, then told to the machine. */

static int mark_override(struct entry *e, enum driver target, bool force)
{
        return attachment_change(&e->manager->roots, &e->life.disk.facts, MARK_OVERRIDE,
                                 &(struct attachment_mark){ .override_target = target, .override_forced = force });
}

void keep_cancelled(const struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;
        int k = attachment_change(&e->manager->roots, f, MARK_CANCELLED, &(struct attachment_mark){ .cancelled = e->life.cancelled });

        if (k < 0)
                log_warning("%s: that it was cancelled is known until uasd ends: %s", f->interface, strerror(-k));
}

void request_undo(struct entry *e)
{
        struct facts *f = &e->life.disk.facts;

        if (mark_override(e, e->overridden, e->overridden_forced) < 0)
                return;
        f->override_target = e->overridden;
        f->override_forced = e->overridden_forced;
}

static int on_request(sd_event_source *s, void *data)
{
        struct entry *e = data;
        const struct facts *f = &e->life.disk.facts;

        e->request_source = sd_event_source_disable_unref(s);
        if (lease_held(e))
                manager_feed(e, &e->lease_request);
        else
                manager_feed(e, &(struct event){ .type = EVENT_REQUEST, .target = f->override_target, .force = f->override_forced });
        return 0;
}

/* The machine hears of it after whoever asked has the number: a request may end at once. */
int manager_request(struct entry *e, enum driver target, bool force, unsigned *ret_request)
{
        struct manager *m = e->manager;
        bool leased = lease_held(e);
        int r;

        /* What was allowed with force stays so when it is asked for once more. */
        if (!leased && target != DRIVER_NONE && target == e->life.disk.facts.override_target)
                force = force || e->life.disk.facts.override_forced;
        r = leased ? 0 : mark_override(e, target, force);
        if (r >= 0 && !e->request_source)
                r = sd_event_add_defer(m->event, &e->request_source, on_request, e);
        if (r < 0)
                return r;
        if (leased) { /* it ends with the lease, and is no word on what comes after */
                if (target == DRIVER_NONE)
                        target = lease_restores(e);
                e->lease_request = (struct event){ .type = EVENT_LEASE_SWITCH, .target = target, .force = force };
        } else {
                struct facts *f = &e->life.disk.facts;

                if (!e->request) {
                        e->overridden = f->override_target;
                        e->overridden_forced = f->override_forced;
                }
                f->override_target = target;
                f->override_forced = force;
        }
        /* One request a disk: a newer one takes the older one's place. */
        if (e->request)
                bus_request_done(m->bus, e, UASD_EXIT_FAILED, "", "replaced by a newer request");
        e->request = ++m->last_request;
        *ret_request = e->request;
        bus_request_added(m->bus, e, target);
        return 0;
}

/* What failed or was cancelled before may be tried again. */
static void ask_again(struct entry *e, const struct event *event)
{
        const struct facts *f = &e->life.disk.facts;

        manager_feed(e, &(struct event){ .type = EVENT_REQUEST, .target = f->override_target, .force = f->override_forced });
}

/* What a user said is on record: the disk is read again with that, and the machine hears of it. */
static void said(struct entry *e)
{
        e->manager->keepoff_due = true;
        manager_post_rescan(e->manager, e->life.disk.facts.interface);
        manager_post(e, ask_again, &(struct event){ 0 });
}

/* Whoever says uas once more knows of the trial that failed. */
static void try_once_more(struct entry *e)
{
        struct record rec = { .type = RECORD_HISTORY };

        if (!e->life.disk.facts.trial_failed || record_read(e->manager, &e->life.disk.facts, &rec.history) <= 0)
                return;
        rec.history.state = HISTORY_DISTRUSTED;
        rec.history.failed = false;
        (void) record_add(e->manager, e, &rec);
}

static void policy_kept(struct manager *m, struct entry *e, const struct record *rec, int r)
{
        if (r < 0) {
                (void) sd_bus_reply_method_errnof(rec->call, -r, "The policy cannot be kept: %s", strerror(-r));
                return;
        }
        log_info("%s: policy is %s now", rec->facts.interface, policy_to_string(rec->policy));
        if (e && rec->policy == POLICY_UAS)
                try_once_more(e);
        if (e)
                said(e);
        (void) manager_post_answer(m, rec->call);
}

int manager_set_policy(struct entry *e, enum policy p, bool force, sd_bus_message *call)
{
        return record_add(e->manager, e, &(struct record){ .type = RECORD_POLICY, .policy = p, .force = force, .port = manager_has_twin(e),
                                                           .done = policy_kept, .call = call });
}

/* Those of its LUNs that offer it, with force all that the kernel could turn it on for. */
static size_t trim_luns(const struct entry *e, bool force, struct trim_lun *luns, size_t n_max, enum trim_offer *ret_offer)
{
        const struct disk *d = &e->life.disk;
        enum trim_offer offer = TRIM_OFFER_UNKNOWN;
        size_t n = 0;

        for (size_t i = 0; i < d->n_luns && n < n_max; i++) {
                struct trim_facts t = {};

                if (!d->luns[i].disk.name[0])
                        continue;
                trim_read(&e->manager->roots, d->luns[i].disk.name, &t);
                if (t.offer > offer)
                        offer = t.offer;
                if (t.mode[0] && (force || t.offer == TRIM_OFFER_YES))
                        luns[n++] = (struct trim_lun){ d->luns[i].lun, t.max_bytes };
        }
        *ret_offer = offer;
        return n;
}

static void trim_kept(struct manager *m, struct entry *e, const struct record *rec, int r)
{
        bool on = rec->n_luns > 0;

        if (r >= 0 && e) {
                report_trim(e, on, rec->force);
                /* udev's rule does it, as it does at the next attach. */
                r = trigger_change(&m->roots, e->life.disk.luns, e->life.disk.n_luns);
        }
        if (r < 0)
                (void) sd_bus_reply_method_errnof(rec->call, -r, "TRIM cannot be turned %s: %s", on ? "on" : "off", strerror(-r));
        else
                (void) sd_bus_reply_method_return(rec->call, NULL);
}

int manager_set_trim(struct entry *e, bool on, bool force, sd_bus_message *call, enum trim_offer *ret_offer)
{
        struct record rec = { .type = RECORD_TRIM, .force = force, .port = manager_has_twin(e), .done = trim_kept, .call = call };

        rec.n_luns = on ? trim_luns(e, force, rec.luns, ELEMENTSOF(rec.luns), ret_offer) : 0;
        return on && rec.n_luns == 0 ? -EOPNOTSUPP : record_add(e->manager, e, &rec);
}

/* The override without what waits. One that the disk follows was no part of that: it is in force again, or still. */
static struct event what_stands(const struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;
        struct event cancel = { .type = EVENT_CANCEL };

        if (!e->request && f->override_target != e->life.disk.decision.target) {
                cancel.target = f->override_target;
                cancel.force = f->override_forced;
        } else if (e->request && e->overridden == f->driver && !(f->distrusted && f->driver == DRIVER_UAS)) {
                cancel.target = e->overridden;
                cancel.force = e->overridden_forced;
        }
        return cancel;
}

int manager_cancel(struct entry *e)
{
        enum state state = e->life.disk.state;
        struct event cancel = { .type = EVENT_CANCEL };

        if (e->life.running || (e->request && lease_returns(e))) /* or has just been */
                return -EBUSY;
        if (!e->request && state != STATE_WAITING && state != STATE_HELD)
                return 0;
        if (!lease_held(e)) {
                cancel = what_stands(e);
                (void) mark_override(e, cancel.target, cancel.force);
        }
        if (e->request) {
                e->request_source = sd_event_source_disable_unref(e->request_source);
                bus_request_done(e->manager->bus, e, UASD_EXIT_FAILED, "", "it was cancelled");
        }
        manager_feed(e, &cancel);
        return 0;
}

int manager_release(struct entry *e)
{
        struct manager *m = e->manager;
        int r;

        if (!e->life.held && !hold_in_force(&m->roots, &e->life.disk.facts, now_boottime(), NULL))
                return manager_cancel(e);
        /* Also while it is being switched: this is the way out of a boot that hangs. */
        r = hold_release(&m->roots, &e->life.disk.facts);
        if (e->life.held)
                manager_feed(e, &(struct event){ .type = EVENT_RELEASED });
        (void) manager_cancel(e);
        if (r >= 0)
                r = trigger_add(&m->roots, e->life.disk.luns, e->life.disk.n_luns);
        report_release(e);
        return r == -ENOENT ? 0 : r; /* a disk that goes just now waits for nothing */
}

static void forgotten(struct manager *m, struct entry *e, const struct record *rec, int r)
{
        if (r < 0) {
                (void) sd_bus_reply_method_errno(rec->call, r, NULL);
                return;
        }
        log_info("%s: its history is forgotten", rec->facts.interface);
        if (e) {
                e->has_unkept = false;
                trouble_begin(e);
                said(e);
        }
        (void) manager_post_answer(m, rec->call);
}

int manager_forget(struct entry *e, sd_bus_message *call)
{
        const struct roots *r = &e->manager->roots;

        (void) attachment_change(r, &e->life.disk.facts, MARK_TRIED, &(struct attachment_mark){ .tried = false });
        e->life.tried = false;
        return record_add(e->manager, e, &(struct record){ .type = RECORD_FORGET, .done = forgotten, .call = call });
}
