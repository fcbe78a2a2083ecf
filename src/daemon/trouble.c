/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "daemon/manager.h"
#include "sys/conf.h"
#include "sys/marks.h"
#include "sys/past.h"
#include "sys/sysfs.h"

/* Disks that fail under uas: what is held against them, kept, told, and handed to the machine. */

/* On record, durably; should that be impossible, at least as long as the disk stays. */
static void keep(struct entry *e, const struct history *h)
{
        int r = past_write(&e->manager->roots, &e->life.disk.facts, h);

        e->manager->keepoff_due = true;
        if (r >= 0)
                return;
        log_error("%s: what happened cannot be put on record: %s", e->life.disk.facts.interface, strerror(-r));
        e->unkept = *h;
        e->has_unkept = true;
}

void trouble_begin(struct entry *e)
{
        trouble_init(&e->trouble);
        e->troubled = false;
        kmsg_keep(e->manager->kmsg);
}

void trouble_judge(struct entry *e, struct facts *f)
{
        if (e->has_unkept) {
                e->unkept.firmware = f->bcd;
                history_judge(&e->unkept, &(struct here){ .kernel = "" }, f);
        }
}

static void distrust(struct entry *e, const struct finding *finding)
{
        struct manager *m = e->manager;
        struct facts *f = &e->life.disk.facts;
        struct history h = {
                .state = HISTORY_DISTRUSTED,
                .failed = f->trial_open,
                .lost = finding->fatal,
        };
        char interface[INTERFACE_NAME_MAX];

        if (e->troubled)
                return;
        e->troubled = true;
        memcpy(interface, f->interface, sizeof(interface));
        if (finding->bursts > 1)
                (void) snprintf(h.reason, sizeof(h.reason), "%s, %u times within ten minutes", finding->what, finding->bursts);
        else
                (void) copy_string(h.reason, sizeof(h.reason), finding->what);
        keep(e, &h);
        /* Asked for, and on trial: trouble leads back all the same. */
        if (f->trial_open)
                (void) attachment_drop_override(&m->roots, f, DRIVER_UAS);
        /* Told with what it comes to. */
        facts_complete(&m->roots, &m->config, f);
        trouble_judge(e, f);
        decide(f, &e->life.disk.decision);
        report_distrust(e, h.reason);
        manager_rescan(m, interface);
        e = manager_find(m, interface);
        if (e)
                manager_feed(e, &(struct event){ .type = EVENT_TROUBLE });
}

static void take_finding(struct entry *e, const struct finding *f)
{
        switch (f->finding) {
        case FINDING_NONE:
                break;
        case FINDING_NOTED:
                log_notice("%s: trouble on uas, not yet held against it: %s; to blame: %s", e->life.disk.facts.interface, f->what,
                           blame_sentence(f->blame));
                break;
        case FINDING_BLAMED:
                report_trouble(e, f);
                break;
        case FINDING_BROKEN:
                if (!facts_uas_alone(&e->life.disk.facts)) {
                        distrust(e, f);
                        break;
                }
                if (!e->troubled) /* there is nowhere to flee to */
                        report_trouble(e, f);
                e->troubled = true;
                break;
        }
}

bool trouble_sign(struct manager *m, const struct sign *s, uint64_t usec, bool live)
{
        bool any = false;

        /* A host that is new while we listen may be the same disk, bound anew after a failed reset. */
        if (live && s->weight == WEIGHT_NEW)
                return false;
        for (size_t i = 0; i < m->n_entries; i++) {
                struct entry *e = m->entries[i];
                struct finding f;

                /* A switch judges for itself; on usb-storage it is not uas that fails. */
                if (e->life.running || e->life.disk.facts.driver != DRIVER_UAS || !sign_is_about(s, &e->life.disk.facts, e->life.disk.host))
                        continue;
                trouble_take(&e->trouble, s, usec, &f);
                any = any || f.finding != FINDING_NONE;
                take_finding(e, &f); /* the entry may be gone after it */
        }
        return any;
}

/* ---- trials ---- */

/* Commands that were not answered in time since the driver took the disk; the log may have been cut short. */
static uint64_t timeouts(const struct entry *e)
{
        const struct disk *d = &e->life.disk;
        uint64_t sum = 0;

        for (size_t i = 0; i < d->n_luns; i++) {
                char path[64], text[24];

                (void) snprintf(path, sizeof(path), "block/%s/device/iotmo_cnt", d->luns[i].disk.name);
                if (d->luns[i].disk.name[0] && attr_read(e->manager->roots.sys, path, text, sizeof(text)) > 0)
                        sum += strtoull(text, NULL, 16);
        }
        return sum;
}

/* The watch is over. Passed is who had no trouble in all of it: the machine asks again after another one. */
void trouble_trial_over(struct entry *e)
{
        struct manager *m = e->manager;
        const struct facts *f = &e->life.disk.facts;
        struct history h;
        uint64_t count = timeouts(e), before = e->trouble.timeouts, now = now_monotonic(); /* the clock of the records */
        int r;

        e->trouble.timeouts = count;
        if (trouble_pending(&e->trouble, now))
                return;
        if (count > before) {
                struct sign silent = { .blame = BLAME_BRIDGE, .weight = WEIGHT_HIGH, .what = "commands were not answered in time" };
                struct finding finding;

                trouble_take(&e->trouble, &silent, now, &finding);
                take_finding(e, &finding);
                return;
        }
        if (past_read(&m->roots, f, &h) <= 0 || h.state != HISTORY_TRIAL)
                h = (struct history){ .state = HISTORY_TRIAL };
        h.state = h.distrusted ? HISTORY_DISTRUSTED : HISTORY_PASSED;
        h.distrusted = false;
        r = past_write(&m->roots, f, &h);
        if (r < 0) {
                log_warning("%s: that it passed its trial cannot be put on record: %s", f->interface, strerror(-r));
                return;
        }
        report_trial(e);
        m->keepoff_due = true;
        manager_rescan(m, f->interface);
}

/* A disk seen for the first time by this uasd: its trial may have gone on before, or have ended with the machine. */
void trouble_adopt(struct entry *e)
{
        const struct roots *r = &e->manager->roots;
        struct facts *f = &e->life.disk.facts;
        struct history h;

        if (facts_uas_alone(f))
                return;
        if (f->trial_failed && past_read(r, f, &h) > 0 && h.state == HISTORY_TRIAL) {
                h = (struct history){ .state = HISTORY_DISTRUSTED, .failed = true };
                (void) copy_string(h.reason, sizeof(h.reason), "the machine went down in the middle of its trial");
                report_distrust(e, h.reason);
                (void) past_write(r, f, &h); /* early in a boot there may be nothing to write to: it stays true */
        } else if (f->trial_ended && f->driver == DRIVER_UAS && !e->manager->env.stopping)
                f->trial_open = past_write(r, f, &(struct history){ .state = HISTORY_TRIAL }) >= 0;
        e->manager->keepoff_due = true;
}

void trouble_gone(struct entry *e)
{
        if (e->life.disk.facts.trial_open || e->life.running)
                (void) past_end_trials(&e->manager->roots, &e->life.disk.facts);
}

void trouble_stop(struct manager *m)
{
        bool any = false;

        for (size_t i = 0; i < m->n_entries; i++)
                any = any || m->entries[i]->life.disk.facts.trial_open;
        if (any)
                (void) past_end_trials(&m->roots, NULL);
}
