/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/disks.h"

#include "common/util.h"

struct entry *disk_find(struct manager *m, const char *interface)
{
        for (size_t i = 0; i < m->n_entries; i++)
                if (streq(m->entries[i]->life.disk.facts.interface, interface))
                        return m->entries[i];
        return NULL;
}

bool disk_has_twin(const struct entry *e)
{
        const struct manager *m = e->manager;

        for (size_t i = 0; i < m->n_entries; i++)
                if (facts_twins(&e->life.disk.facts, &m->entries[i]->life.disk.facts))
                        return true;
        return false;
}
