/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/features.h"

#include "common/log.h"
#include "common/names.h"
#include "sys/io/pid1.h"
#include "sys/state/store.h"

/* A record says that. A policy or an entry of the user does not. */
static bool uas_failed(const struct facts *f)
{
        return f->caps.uas && (f->distrusted || f->trial_failed);
}

/*
 * uasd has no right to write to /boot, and may not get one: it has no mount namespace, which could limit that to one place. The
 * unit is short-lived, and writes only if the entry is missing. So an update of the system that has rewritten the file is mended
 * at the next start of uasd.
 */
void boot_entry_review(struct manager *m)
{
        unsigned version = 1 + store_version(&m->roots, STATE_HISTORY) + store_version(&m->roots, STATE_POLICY);
        bool failed = false;
        int r;

        if (!m->config.boot_entry_auto || !m->looked || !m->env.booted || m->env.stopping)
                return;
        FOREACH_ENTRY (e, m)
                failed = failed || uas_failed(&e->life.disk.facts);
        if (!failed || m->boot_entry.pid1 || m->boot_entry.version == version)
                return;
        m->boot_entry.version = version;
        log_info("PID 1 is asked to start " UNIT_BOOT_ENTRY);
        r = pid1_start_later(&m->roots, m->event, UNIT_BOOT_ENTRY, &m->boot_entry.pid1);
        if (r < 0)
                log_warning("PID 1 cannot be asked to start " UNIT_BOOT_ENTRY ": %s", strerror(-r));
}
