/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/boot-entry.h"

#include <sys/inotify.h>

#include "common/log.h"
#include "common/names.h"
#include "sys/io/pid1.h"
#include "sys/state/store.h"

/* A record says that. A policy or an entry of the user does not. */
static bool uas_failed(const struct facts *f)
{
        return f->caps.uas && (f->distrusted || f->trial_failed);
}

static void boot_entry_in_turn(struct manager *m, void *data)
{
        boot_entry_review(m);
}

static void boot_entry_look_again(void *data)
{
        struct manager *m = data;

        m->boot_entry.version = 0;
        queue_call(m, boot_entry_in_turn, NULL);
}

/* An update may write the file several times, and a unit that still runs is not started again. */
#define PAUSE (2 * USEC_PER_SEC)

static int boot_entry_on_file(sd_event_source *source, const struct inotify_event *i, void *data)
{
        struct manager *m = data;

        if ((i->mask & IN_Q_OVERFLOW) || (i->len > 0 && streq(i->name, "cmdline.txt")))
                (void) later_call(&m->boot_entry.again, m->event, PAUSE, boot_entry_look_again, m);
        return 0;
}

/* The files that need no further command. If another folder is mounted there later, that is not
 * watched: then the next start of uasd mends it. */
static void boot_entry_watch(struct manager *m)
{
        static const char *const folders[] = {"boot/firmware", "boot"};
        char path[64];

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                if (m->boot_entry.watches[i])
                        continue;
                (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/../%s", m->roots.etc,
                                folders[i]);
                (void) sd_event_add_inotify(m->event, &m->boot_entry.watches[i], path,
                                            IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR,
                                            boot_entry_on_file, m);
        }
}

/*
 * uasd has no right to write to /boot, and may not get one: it has no mount namespace, which could
 * limit that to one place. The unit is short-lived, and writes only if the entry is missing. So an
 * update of the system that rewrites the file is mended, soon or at the next start of uasd.
 */
void boot_entry_review(struct manager *m)
{
        unsigned version = 1 + store_version(&m->roots, STATE_HISTORY) +
                           store_version(&m->roots, STATE_POLICY);
        bool failed = false;
        int r;

        if (!m->config.boot_entry_auto || !m->looked || !m->env.booted || m->env.stopping)
                return;
        boot_entry_watch(m);
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
