/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/requests.h"

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "core/request.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/lease.h"
#include "daemon/feature/report.h"
#include "daemon/feature/trouble.h"
#include "daemon/work/marks.h"
#include "daemon/work/records.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/udev/udevdb.h"

/* Requests of users: first recorded, so that they outlive this process, then passed to the machine.
 */

#define OVERRIDE_MARK(target, force)                                                               \
        ((struct attachment_mark){.override_target = (target), .override_forced = (force)})

static int request_mark_override(struct entry *e, enum driver target, bool force)
{
        return mark_set(e, MARK_OVERRIDE, &OVERRIDE_MARK(target, force));
}

void request_keep_cancelled(struct entry *e)
{
        mark_keep(e, MARK_CANCELLED, &(struct attachment_mark){.cancelled = e->life.cancelled});
}

static int request_override(struct entry *e, enum driver target, bool force)
{
        struct facts *f = &e->life.disk.facts;
        int r = request_mark_override(e, target, force);

        if (r < 0)
                return r;
        f->override_target = target;
        f->override_forced = force;
        return 0;
}

int request_switch(struct entry *e, enum driver target, bool force)
{
        struct disk_request *q = &e->request;
        const struct facts *f = &e->life.disk.facts;
        bool leased = lease_held(e);

        if (leased) { /* it ends with the lease, and does not apply after it */
                if (target == DRIVER_NONE)
                        target = lease_restores(e);
        } else {
                enum driver before = f->override_target;
                bool before_forced = f->override_forced;
                int r;

                /* A repeated request keeps its earlier force. */
                if (target != DRIVER_NONE && target == before)
                        force = force || before_forced;
                r = request_override(e, target, force);
                if (r < 0)
                        return r;
                if (!q->number) {
                        q->overridden = before;
                        q->overridden_forced = before_forced;
                }
        }
        /* One request a disk: a newer one replaces it. */
        if (q->number)
                bus_request_done(e, UASD_EXIT_FAILED, "", "replaced by a newer request");
        *q = (struct disk_request){
                .number = ++e->manager->last_request,
                .pending = true,
                .of_lease = leased,
                .force = force,
                .from = f->driver,
                .to = target,
                .code = -1,
                .overridden = q->overridden,
                .overridden_forced = q->overridden_forced,
        };
        bus_request_added(e);
        /* The request may end at once. So the caller gets its number before the machine gets the
         * request. */
        queue_entry(e, POST_REQUEST);
        return 0;
}

/* ---- policy and history, also of a disk that is not plugged in ---- */

/* Such a disk has an id. */
static struct record_task task_of(const struct entry *e, const char *id, enum record_type type,
                                  record_fn done, struct bus_call *call)
{
        struct record_task rec = {
                .type = type, .port = e && disk_has_twin(e), .done = done, .call = call};

        if (!e)
                (void) copy_string(rec.id, sizeof(rec.id), id);
        return rec;
}

#define TASK_NAME_MAX (HISTORY_KEY_MAX + 32)
static const char *task_name(const struct record_task *rec, char ret[static TASK_NAME_MAX])
{
        if (rec->id[0])
                (void) snprintf(ret, TASK_NAME_MAX, "%s, not plugged in", rec->id);
        else
                (void) copy_string(ret, TASK_NAME_MAX, rec->facts.interface);
        return ret;
}

/* The wish of the user is recorded. The disk is read again, and a failed or cancelled switch may be
 * tried again. */
static void request_recorded(struct manager *m, struct entry *e, const struct record_task *rec)
{
        if (rec->id[0]) /* the posts update the quirks before the caller gets the answer */
                keepoff_forget(m, rec->id);
        if (e) {
                keepoff_schedule(m);
                queue_entry(e, POST_AGAIN);
        }
        bus_call_return_later(m, rec->call, rec->warning);
}

/* A user who asks for uas again knows of the failed trial. */
static void request_try_once_more(struct entry *e)
{
        struct record_task rec = {.type = RECORD_HISTORY};

        if (!e->life.disk.facts.trial_failed ||
            record_read(e->manager, &e->life.disk.facts, &rec.history) <= 0)
                return;
        rec.history.state = HISTORY_DISTRUSTED;
        rec.history.failed = false;
        (void) record_add(e->manager, e, &rec);
}

static void request_policy_kept(struct manager *m, struct entry *e, const struct record_task *rec,
                                int r)
{
        char name[TASK_NAME_MAX];

        if (r < 0) {
                bus_call_fail_errno(rec->call, r, "Cannot store the policy: %s", strerror(-r));
                return;
        }
        log_info("%s: policy is %s now", task_name(rec, name), policy_to_string(rec->policy));
        if (e && rec->policy == POLICY_UAS) {
                request_try_once_more(e);
                trouble_forget(e);
        }
        request_recorded(m, e, rec);
}

int request_policy(struct manager *m, struct entry *e, const char *id, enum policy p, bool force,
                   struct bus_call *call)
{
        struct record_task rec = task_of(e, id, RECORD_POLICY, request_policy_kept, call);

        rec.policy = p;
        rec.force = force;
        return record_add(m, e, &rec);
}

static void request_forgotten(struct manager *m, struct entry *e, const struct record_task *rec,
                              int r)
{
        char name[TASK_NAME_MAX];

        if (r == -ENOENT && rec->id[0])
                bus_call_fail(rec->call, UASD_BUS_ERROR_NO_SUCH_DISK,
                              "%s is not plugged in, and has no history.", rec->id);
        else if (r < 0)
                bus_call_fail_errno(rec->call, r, "Cannot clear its history: %s", strerror(-r));
        if (r < 0)
                return;
        log_info("%s: its history is forgotten", task_name(rec, name));
        if (e) {
                free(TAKE_PTR(e->trouble.unkept));
                trouble_begin(e, e->life.disk.facts.driver);
                trouble_forget(e);
        }
        request_recorded(m, e, rec);
}

int request_forget(struct manager *m, struct entry *e, const char *id, struct bus_call *call)
{
        struct record_task rec = task_of(e, id, RECORD_FORGET, request_forgotten, call);

        if (e) {
                mark_keep(e, MARK_TRIED, &(struct attachment_mark){.tried = false});
                e->life.attempt.tried = false;
        }
        return record_add(m, e, &rec);
}

/* ---- TRIM ---- */

/* Returns the LUNs that offer TRIM; with force, all for which the kernel could turn it on. */
static size_t request_trim_luns(const struct entry *e, bool force, struct trim_lun *luns,
                                size_t n_max, enum trim_offer *ret_offer)
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
                if (!t.mode[0] || (!force && t.offer != TRIM_OFFER_YES))
                        continue;
                luns[n] = (struct trim_lun){.lun = d->luns[i].lun,
                                            .max_bytes = t.max_bytes,
                                            .forced = t.offer != TRIM_OFFER_YES};
                trim_read_medium(&e->manager->roots, d->luns[i].disk.name, &luns[n++].medium);
        }
        *ret_offer = offer;
        return n;
}

/* Called under uas. The queue of a disk that hangs may be locked. So its block size is not read,
 * but taken as the smallest one.
 */
static void request_note_trims(struct entry *e)
{
        const struct disk *d = &e->life.disk;
        struct trim_lun luns[TRIM_LUNS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < d->n_luns && n < ELEMENTSOF(luns); i++) {
                struct trim_facts t;

                if (!d->luns[i].disk.name[0])
                        continue;
                trim_read_offer(&e->manager->roots, d->luns[i].disk.name, 512, &t);
                if (t.offer != TRIM_OFFER_YES)
                        continue;
                luns[n] = (struct trim_lun){.lun = d->luns[i].lun, .max_bytes = t.max_bytes};
                trim_read_medium(&e->manager->roots, d->luns[i].disk.name, &luns[n++].medium);
        }
        if (n == 0) /* they are gone for a moment, in a switch */
                return;
        free(e->trims);
        e->n_trims = 0;
        e->trims = malloc(n * sizeof(*luns));
        if (!e->trims)
                return;
        e->n_trims = (uint8_t) n;
        memcpy(e->trims, luns, n * sizeof(*luns));
}

/* usb-storage shows no offer. Returns those that the same media made under uas. */
static size_t request_trim_luns_noted(const struct entry *e, struct trim_lun *luns)
{
        const struct disk *d = &e->life.disk;
        size_t n = 0;

        for (size_t i = 0; i < e->n_trims; i++)
                for (size_t j = 0; j < d->n_luns; j++) {
                        struct trim_medium now;
                        char mode[TRIM_MODE_MAX];

                        if (d->luns[j].lun != e->trims[i].lun || !d->luns[j].disk.name[0])
                                continue;
                        trim_read_medium(&e->manager->roots, d->luns[j].disk.name, &now);
                        trim_read_mode(&e->manager->roots, d->luns[j].disk.name, mode);
                        if (*mode && trim_medium_same(&e->trims[i].medium, &now))
                                luns[n++] = e->trims[i];
                }
        return n;
}

static void request_trim_kept(struct manager *m, struct entry *e, const struct record_task *rec,
                              int r)
{
        bool on = rec->n_luns > 0;

        if (r >= 0 && e) {
                report_trim(e, on, rec->force);
                /* udev's rule turns it on, as at each attach. */
                r = trigger_change(&m->roots, e->life.disk.luns, e->life.disk.n_luns);
        }
        if (r < 0)
                bus_call_fail_errno(rec->call, r, "TRIM cannot be turned %s: %s", on ? "on" : "off",
                                    strerror(-r));
        else
                bus_call_return_later(m, rec->call, rec->warning);
}

int request_trim(struct entry *e, bool on, bool force, struct bus_call *call,
                 enum trim_offer *ret_offer)
{
        struct record_task rec = {.type = RECORD_TRIM,
                                  .force = force,
                                  .port = disk_has_twin(e),
                                  .done = request_trim_kept,
                                  .call = call};

        if (on)
                rec.n_luns = request_trim_luns(e, force, rec.luns, ELEMENTSOF(rec.luns), ret_offer);
        if (on && !force && rec.n_luns == 0 && *ret_offer == TRIM_OFFER_UNKNOWN)
                rec.n_luns = request_trim_luns_noted(e, rec.luns);
        if (on && rec.n_luns == 0)
                return -EOPNOTSUPP;
        return record_add(e->manager, e, &rec);
}

void request_trim_look(struct entry *e)
{
        const struct disk *d = &e->life.disk;
        uint64_t max;

        if (d->facts.driver == DRIVER_UAS)
                request_note_trims(e);
        for (size_t i = 0; i < d->n_luns && !e->trim_reported; i++)
                if (d->luns[i].disk.name[0] &&
                    trims_lookup(&e->manager->roots, &d->facts, d->luns[i].lun,
                                 d->luns[i].disk.name, &max) == TRIM_KEPT_FOR_ANOTHER) {
                        report_trim_of_another(e);
                        e->trim_reported = true;
                }
}

/* ---- cancel, release and the end ---- */

int request_cancel(struct entry *e)
{
        enum state state = e->life.disk.state;
        struct event cancel = {.type = EVENT_CANCEL};
        int r;

        if (e->life.attempt.running ||
            (e->request.number && lease_returns(e))) /* running, or just finished */
                return -EBUSY;
        if (!e->request.number && state != STATE_WAITING && state != STATE_HELD)
                return 0;
        if (!lease_held(e)) {
                cancel = request_cancel_event(&e->life, e->request.number != 0,
                                              e->request.overridden, e->request.overridden_forced);
                r = request_mark_override(e, cancel.target, cancel.force);
                if (r < 0) /* the next rescan would bring it back */
                        return r;
        }
        if (e->request.number)
                bus_request_done(e, UASD_EXIT_FAILED, "", "it was cancelled");
        queue_event(e, &cancel);
        return 0;
}

void request_settle(struct entry *e)
{
        struct request_end end;

        if (!e->request.number || e->request.pending)
                return;
        if (lease_returns(e) || !request_ended(&e->life, e->request.to, &end)) {
                bus_request_changed(e);
                return;
        }
        if (end.undo &&
            request_override(e, e->request.overridden, e->request.overridden_forced) < 0)
                mark_keep(e, MARK_OVERRIDE,
                          &OVERRIDE_MARK(e->request.overridden, e->request.overridden_forced));
        bus_request_done(e, end.code, end.step, end.text);
}

int request_release(struct entry *e)
{
        struct manager *m = e->manager;
        int r, cancelled;

        if (!e->life.hold.active &&
            !hold_in_force(&m->roots, &e->life.disk.facts, now_boottime(), NULL))
                return request_cancel(e);
        /* Possible also during a switch: this ends a boot that hangs. */
        r = hold_release(&m->roots, &e->life.disk.facts);
        if (e->life.hold.active)
                queue_event(e, &(struct event){.type = EVENT_RELEASED});
        cancelled = request_cancel(e);
        if (r >= 0)
                r = trigger_add(&m->roots, e->life.disk.luns, e->life.disk.n_luns);
        queue_entry(e, POST_RELEASED);
        if (r == -ENOENT) /* the disk is just being unplugged and waits for nothing */
                return 0;
        if (r >= 0 && cancelled < 0 && cancelled != -EBUSY)
                return cancelled;
        return r;
}
