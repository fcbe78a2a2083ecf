/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/disks.h"

#include <fcntl.h>

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

int pipe_until_closed(sd_event *event, sd_event_io_handler_t fn, void *data, sd_event_source **ret, int *ret_end)
{
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, ret, ends[0], 0, fn, data); /* epoll always reports the end */
        if (r < 0) {
                (void) close(ends[0]);
                (void) close(ends[1]);
                return r;
        }
        (void) sd_event_source_set_io_fd_own(*ret, true);
        *ret_end = ends[1];
        return 0;
}
