/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/actions.h"
#include "daemon/feature/event-hooks.h"
#include "daemon/feature/keepoff.h"
#include "daemon/feature/report.h"
#include "daemon/feature/switches.h"
#include "daemon/feature/take-mounts.h"
#include "daemon/feature/trouble.h"
#include "daemon/rescan.h"
#include "daemon/work/child.h"
#include "daemon/work/marks.h"
#include "daemon/work/records.h"
#include "daemon/work/strings.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"

/* uasd: performs the posts of the queue; starts and stops. */

/* ---- the queue ---- */

static void manager_step_all(struct manager *m)
{
        FOREACH_ENTRY (e, m)
                entry_step(e, &(struct event){.type = EVENT_ENVIRONMENT});
}

static void manager_booted(struct manager *m)
{
        m->env.booted = true;
        roots_reopen_var(&m->roots, m->root); /* /var may have been mounted meanwhile */
        log_debug("the boot is over");
        keepoff_schedule(m);
        (void) keepoff_review(m, NULL);
        manager_step_all(m);
}

static void manager_lost(struct manager *m)
{
        (void) attachments_prune(&m->roots, NULL);
        rescan_all(m);
        use_watch_lost(&m->uses);
}

/* A hold has ended by its timer, or a foreign uasd-switch has removed its record. */
static void manager_mark_changed(struct entry *e)
{
        if (e->life.attempt.running && !e->run && !switch_foreign_runs(e))
                return; /* its end is posted, with a rescan */
        keepoff_schedule(e->manager);
        queue_rescan(e->manager, e->life.disk.facts.interface);
}

static void manager_pass_request(struct entry *e)
{
        if (!e->request.pending) /* cancelled */
                return;
        e->request.pending = false;
        entry_step(e,
                   &(struct event){.type = e->request.of_lease ? EVENT_LEASE_SWITCH : EVENT_REQUEST,
                                   .target = e->request.to,
                                   .force = e->request.force});
}

static void manager_carry_out(struct manager *m, const struct post *p)
{
        switch (p->type) {
        case POST_RESCAN:
                rescan_disk(m, p->interface);
                break;
        case POST_RESCAN_ALL:
                rescan_all(m);
                break;
        case POST_LOST:
                manager_lost(m);
                break;
        case POST_BOOTED:
                manager_booted(m);
                break;
        case POST_ENVIRONMENT:
                trouble_sleep(m);
                manager_step_all(m);
                break;
        case POST_USES:
                use_watch_changed(&m->uses);
                break;
        case POST_LOOK:
                entry_look(p->entry);
                break;
        case POST_MARK:
                manager_mark_changed(p->entry);
                break;
        case POST_AGAIN:
                rescan_again(p->entry);
                break;
        case POST_REQUEST:
                manager_pass_request(p->entry);
                break;
        case POST_EVENT:
                entry_step(p->entry, &p->event);
                break;
        case POST_RELEASED:
                report_release(p->entry);
                break;
        case POST_CALL:
                p->call(m, p->data);
                break;
        }
}

/* ---- start and stop ---- */

static void manager_complain(const char *file, int line, const char *what, void *data)
{
        log_warning("%s:%i: %s", file, line, what);
}

int manager_new(const char *root, struct manager **ret)
{
        struct manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        m->lock = m->kmsg.fd = m->sleep.fd = -1;
        m->root = root;
        m->roots = ROOTS_NULL;
        config_init(&m->config);
        r = roots_open(&m->roots, root);
        if (r < 0)
                return r;
        r = conf_load(&m->roots, &m->config, manager_complain, NULL);
        if (r < 0)
                return r;
        r = sd_event_new(&m->event);
        if (r < 0)
                return r;
        r = queue_new(m, manager_carry_out);
        if (r < 0)
                return r;
        TAILQ_INIT(&m->entries);
        TAILQ_INIT(&m->inhibitors);
        m->keepoff.due = true;
        m->env.quiet_usec = m->config.quiet_usec;
        m->env.trial_usec = m->config.trial_usec;
        *ret = m;
        return 0;
}

/* Two uasd processes would take over each other's socket, and undo each other's switches. A full or
 * read-only /run does not stop uasd: disks may be waiting for it. */
static bool manager_has_twin(struct manager *m)
{
        if (state_mkdir(m->roots.run, RUN_DIR) < 0)
                return false;
        m->lock = openat(m->roots.run, RUN_DAEMON_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         0600);
        return m->lock >= 0 && fcntl(m->lock, F_SETLK, &(struct flock){.l_type = F_WRLCK}) < 0 &&
               errno == EAGAIN;
}

int manager_start(struct manager *m)
{
        int r;

        if (manager_has_twin(m))
                return -EALREADY;
        r = use_watch_start(m);
        if (r < 0)
                return r;
        bus_start(m);
        /* Listens before it reads, so that no event is lost. */
        r = uevents_start(m);
        if (r < 0)
                return r;
        boot_await(m);
        (void) attachments_prune(&m->roots, NULL);
        (void) keepoff_review(m, NULL); /* before the first disk to which it applies */
        queue_post(m, POST_RESCAN_ALL);
        queue_drain(m);
        strings_wait(m);
        queue_drain(m);
        m->looked = true;
        keepoff_schedule(m);
        queue_drain(m);
        kmsg_start(m, trouble_sign);
        event_hooks_start(m);
        return 0;
}

void manager_end(struct manager *m)
{
        if (!m || m->ended)
                return;
        m->ended = true;
        m->env.stopping = true; /* no switch begins; uasd-switch finishes the present ones */
        record_stop(m);
        if (m->looked)
                (void) keepoff_review(m, NULL); /* a policy of the last moment */
        marks_end(m);
        switch_eject_stop(m);
        kmsg_keep(m);
        trouble_end(m);
        take_end(m); /* the last one: it may wait longer than a supervisor does */
}
