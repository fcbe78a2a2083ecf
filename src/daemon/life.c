/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/file.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/manager.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"

/* The daemon's own life: what it needs, how it starts and stops. */

static void complain(const char *file, int line, const char *what, void *data)
{
        log_warning("%s:%i: %s", file, line, what);
}

int manager_new(const char *root, struct manager **ret)
{
        struct manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        m->lock = -1;
        m->root = root;
        m->roots = ROOTS_NULL;
        config_init(&m->config);
        r = roots_open(&m->roots, root);
        if (r >= 0)
                r = conf_load(&m->roots, &m->config, complain, NULL);
        if (r >= 0)
                r = sd_event_new(&m->event);
        if (r >= 0)
                r = queue_new(m);
        if (r < 0) {
                manager_free(m);
                return r;
        }
        m->env.quiet_usec = m->config.quiet_usec;
        m->env.trial_usec = m->config.trial_usec;
        m->keepoff_due = true;
        *ret = m;
        return 0;
}

void manager_environment_changed(struct manager *m)
{
        for (size_t i = 0; i < m->n_entries; i++)
                manager_feed(m->entries[i], &(struct event){ .type = EVENT_ENVIRONMENT });
}

void manager_booted(struct manager *m)
{
        m->env.booted = true;
        roots_reopen_var(&m->roots, m->root); /* what was mounted on it meanwhile */
        log_debug("the boot is over");
        m->keepoff_due = true;
        (void) keepoff_review(m);
        manager_environment_changed(m);
}

/* Two of them would take each other's socket, and each would undo what the other begins. */
static int lock_machine(struct manager *m)
{
        int r = state_mkdir(m->roots.run, RUN_DIR);

        if (r < 0)
                return r;
        m->lock = openat(m->roots.run, RUN_DAEMON_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (m->lock < 0)
                return -errno;
        if (fcntl(m->lock, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK }) >= 0)
                return 0;
        return errno == EAGAIN ? -EALREADY : -errno;
}

int manager_start(struct manager *m)
{
        int r = lock_machine(m);

        if (r == -EALREADY)
                log_error("another uasd is at work already");
        /* A /run that is full or read-only is no reason to leave disks that wait alone. */
        if (r != -EALREADY)
                r = watch_new(m, &m->watch);
        if (r >= 0)
                r = bus_new(m, &m->bus);
        /* Listening first, then looking: nothing falls between. */
        if (r >= 0)
                r = scan_start(m);
        if (r >= 0)
                r = boot_await(m);
        if (r < 0)
                return r;
        (void) attachments_prune(&m->roots);
        (void) keepoff_review(m); /* before a disk comes that it is for */
        manager_post_call(m, manager_rescan_all);
        manager_drain(m);
        strings_wait(m);
        manager_drain(m);
        m->looked = m->keepoff_due = true;
        if (keepoff_review(m))
                manager_post_call(m, manager_rescan_all);
        manager_drain(m);
        r = kmsg_new(m, &m->kmsg);
        kmsg_arm(m->kmsg); /* and what this boot has said of those that are on uas already */
        return r;
}

void manager_stop(struct manager *m)
{
        m->env.stopping = true;
        trouble_stop(m);
}

void manager_free(struct manager *m)
{
        if (!m)
                return;
        m->env.stopping = true;
        record_stop(m);
        bus_free(m->bus);
        m->bus = NULL;
        sleep_free(m->sleep);
        kmsg_free(m->kmsg); /* the accounts of all that is there are kept */
        m->kmsg = NULL;
        entries_free(m);
        strings_free(m);
        queue_free(m);
        inhibit_free(m);
        scan_free(m->scan);
        watch_free(m->watch);
        boot_free(m->boot);
        kept_disks_done(&m->seen);
        sd_bus_close_unref(m->keepoff_pid1);
        sd_event_source_disable_unref(m->keepoff_timer);
        sd_event_unref(m->event);
        config_done(&m->config);
        roots_close(&m->roots);
        (void) close_keep_errno(m->lock);
        free(m);
}
