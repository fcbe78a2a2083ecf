/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "common/exit-codes.h"
#include "daemon/manager.h"
#include "sys/state/attachment.h"

/* The disks that are there: how one comes to be known, how it is forgotten. */

struct entry *manager_find(struct manager *m, const char *interface)
{
        for (size_t i = 0; i < m->n_entries; i++)
                if (streq(m->entries[i]->life.disk.facts.interface, interface))
                        return m->entries[i];
        return NULL;
}

struct entry *entry_new(struct manager *m)
{
        struct entry **grown = realloc(m->entries, (m->n_entries + 1) * sizeof(*grown));
        struct entry *e;

        if (!grown)
                return NULL;
        m->entries = grown;
        e = calloc(1, sizeof(*e));
        if (!e)
                return NULL;
        e->manager = m;
        life_init(&e->life);
        m->entries[m->n_entries++] = e;
        return e;
}

static void entry_free(struct entry *e)
{
        queue_forget(e);
        record_forget_entry(e);
        who_forget(e);
        watch_remove(e->manager->watch, e);
        job_orphan(e->job);
        look_orphan(e->look);
        lease_free(e);
        sd_event_source_disable_unref(e->timer);
        sd_event_source_disable_unref(e->unbound_timer);
        sd_event_source_disable_unref(e->foreign_timer);
        sd_event_source_disable_unref(e->request_source);
        disk_done(&e->life.disk);
        free(e);
}

void entries_free(struct manager *m)
{
        for (size_t i = 0; i < m->n_entries; i++)
                entry_free(m->entries[i]);
        free(TAKE_PTR(m->entries));
        m->n_entries = 0;
}

void entry_gone(struct entry *e)
{
        struct manager *m = e->manager;

        assert(m->draining);
        if (e->life.running)
                report_unplugged(e, job_step(e->job));
        if (e->request)
                bus_request_done(m->bus, e, UASD_EXIT_NO_DISK, "", "the disk was unplugged");
        lease_gone(e);
        bus_disk_removed(m->bus, e);
        trouble_gone(e);
        for (size_t i = 0; i < m->n_entries; i++)
                if (m->entries[i] == e) {
                        m->entries[i] = m->entries[--m->n_entries];
                        break;
                }
        entry_free(e);
        (void) attachments_prune(&m->roots);
        m->keepoff_due = true; /* its trial has ended */
        (void) keepoff_review(m);
        kmsg_arm(m->kmsg);
}
