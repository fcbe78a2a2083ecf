/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/records.h"

#include <assert.h>
#include <sys/prctl.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "daemon/feature/keepoff.h"
#include "daemon/work/child.h"
#include "daemon/work/marks.h"
#include "sys/facts.h"
#include "sys/io/clock.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/state/store.h"
#include "sys/state/trims.h"
#include "sys/udev/hwdb.h"

/*
 * The durable records: histories, policies, TRIM. A child writes them one by one, in the order in
 * which they were added, since a disk that hangs may delay an fsync for minutes. A history counts
 * even before it is written.
 */

/* At the end of uasd: most time to wait for unwritten records. */
#define STOP_USEC (5 * USEC_PER_SEC)
#define AGAIN_USEC USEC_PER_SEC

static int record_perform(const struct roots *roots, const struct record_task *rec)
{
        switch (rec->type) {
        case RECORD_HISTORY:
                return history_write(roots, &rec->facts, &rec->history);
        case RECORD_END_TRIAL:
                return history_end_trials(roots, &rec->facts);
        case RECORD_FORGET:
                if (rec->id[0])
                        return history_forget_id(roots, rec->id);
                return history_forget(roots, &rec->facts);
        case RECORD_POLICY:
                if (rec->id[0])
                        return policy_store_id(roots, rec->id, rec->policy, rec->force);
                return policy_store(roots, &rec->facts, rec->port, rec->policy, rec->force);
        case RECORD_TRIM:
                return trims_store(roots, &rec->facts, rec->port, rec->luns, rec->n_luns);
        }
        return -EINVAL;
}

struct answer {
        int r;
        char warning[STORE_WARNING_MAX];
};

static void record_in_child(const struct roots *roots, void *data, int out)
{
        struct answer a = {};

        (void) prctl(PR_SET_PDEATHSIG, 0); /* the child finishes even if uasd ends */
        a.r = record_perform(roots, data);
        (void) copy_string(a.warning, sizeof(a.warning), store_warning());
        (void) !write(out, &a, sizeof(a));
}

/* The first record is on disk, or failed with r. */
static void record_written(struct manager *m, int r)
{
        struct record_task *rec = m->records;

        m->records = rec->next;
        if (rec->done)
                rec->done(m, rec->entry, rec, r);
        if (rec->entry)
                queue_rescan(m, rec->facts.interface);
        keepoff_schedule(m);
        bus_call_unref(rec->call);
        free(rec);
}

static void record_start(void *data);

/* A caller must get an answer. uasd's own records can wait: another program has the lock, or no
 * child could be started. */
static bool record_can_wait(const struct record_task *rec)
{
        return !rec->call && !rec->manager->env.stopping;
}

static void record_on_end(void *data, const struct child_end *end)
{
        struct record_task *rec = data;
        struct manager *m = rec->manager;
        struct answer a = {.r = -EIO};
        int r;

        assert(rec == m->records);

        m->recorder = NULL;
        if (end->size == sizeof(a))
                memcpy(&a, end->answer, sizeof(a));
        r = a.r;
        memcpy(rec->warning, a.warning, sizeof(rec->warning));
        rec->warning[sizeof(rec->warning) - 1] = '\0';
        if (r == -ETIMEDOUT && record_can_wait(rec)) {
                record_start(m);
                return;
        }
        record_written(m, r);
        record_start(m);
}

static void record_start(void *data)
{
        struct manager *m = data;
        int r;

        while (m->records && !m->recorder) {
                r = child_run(m, record_in_child, record_on_end, m->records, -1, &m->recorder);
                if (r >= 0)
                        return;
                if (record_can_wait(m->records) &&
                    (m->record_again.timer ||
                     later_call(&m->record_again, m->event, AGAIN_USEC, record_start, m) >= 0))
                        return;
                record_written(m, r);
        }
}

int record_add(struct manager *m, struct entry *e, const struct record_task *template)
{
        struct record_task **last = &m->records, *rec = malloc(sizeof(*rec));

        if (!rec)
                return -ENOMEM;
        *rec = *template;
        rec->manager = m;
        rec->entry = e;
        if (e)
                rec->facts = e->life.disk.facts;
        if (rec->call)
                (void) bus_call_ref(rec->call);
        if (rec->type == RECORD_HISTORY)
                history_complete(&m->roots, &rec->facts, &rec->history);
        while (*last)
                last = &(*last)->next;
        *last = rec;
        record_start(m);
        return 0;
}

void record_forget_entry(struct entry *e)
{
        for (struct record_task *rec = e->manager->records; rec; rec = rec->next)
                if (rec->entry == e)
                        rec->entry = NULL;
}

/* ---- unwritten records ---- */

static bool record_is_of(const struct record_task *rec, const struct facts *f,
                         char *(*key)(const struct facts *f, char *ret, size_t size))
{
        char a[HISTORY_KEY_MAX], b[HISTORY_KEY_MAX];

        return streq(key(&rec->facts, a, sizeof(a)), key(f, b, sizeof(b)));
}

bool record_pending(const struct manager *m, const struct facts *f)
{
        for (const struct record_task *rec = m->records; rec; rec = rec->next)
                if (rec->type == RECORD_HISTORY && record_is_of(rec, f, history_key))
                        return true;
        return false;
}

/* Changes a record from the files, if found, to what it will be. */
static bool record_apply(const struct record_task *rec, const struct facts *f, const char *boot,
                         bool found, struct history *h)
{
        if (rec->type == RECORD_HISTORY && record_is_of(rec, f, history_key)) {
                *h = rec->history;
                return true;
        }
        if (rec->type == RECORD_END_TRIAL && found && record_is_of(rec, f, history_key))
                (void) history_end_trial(h, boot);
        if (rec->type == RECORD_FORGET && !rec->id[0])
                return found && !record_is_of(rec, f, history_key_disk);
        if (rec->type == RECORD_FORGET)
                return found && !history_id_is_of(rec->id, f);
        return found;
}

int record_read(const struct manager *m, const struct facts *f, struct history *ret)
{
        int r = history_read(&m->roots, f, ret);
        struct here here;

        if (!m->records)
                return r;
        history_here(&m->roots, &here);
        for (const struct record_task *rec = m->records; rec; rec = rec->next)
                if (record_apply(rec, f, here.boot, r > 0, ret))
                        r = 1;
                else if (r > 0)
                        r = 0;
        return r;
}

void record_judge(const struct manager *m, struct facts *f)
{
        struct history h;

        if (m->records)
                history_judge_here(&m->roots, record_read(m, f, &h) > 0 ? &h : NULL, f);
}

void record_complete(const struct entry *e, struct facts *f)
{
        const struct manager *m = e->manager;
        struct attachment_mark a = {};

        facts_complete(&m->roots, &m->config, f);
        facts_complete_hwdb(&m->roots, f);
        if (e->marks.late && mark_read(e, f, &a) >= 0)
                facts_take_mark(f, &a);
}

/* uasd does not wait for these any longer. The child goes on with the first one. */
static void record_give_up(struct manager *m)
{
        log_warning("not everything that was to be kept is written yet: a disk does not answer");
        if (m->records->call)
                bus_call_fail(m->records->call, UASD_BUS_ERROR_STOPPING,
                              "uasd ends while this is being written: the disk with the record "
                              "does not answer.");
        for (const struct record_task *rec = m->records->next; rec; rec = rec->next)
                if (rec->call)
                        bus_call_fail(rec->call, UASD_BUS_ERROR_STOPPING,
                                      "uasd ends, and has not written this: the disk with the "
                                      "record does not answer.");
}

void record_stop(struct manager *m)
{
        usec_t deadline = now_monotonic() + STOP_USEC;

        record_start(m);
        while (m->recorder && child_wait(m->recorder, deadline))
                ;
        if (m->records)
                record_give_up(m);
}
