/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/lease.h"

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "core/learn.h"
#include "core/machine.h"
#include "daemon/feature/switches.h"
#include "daemon/loop.h"
#include "daemon/work/child.h"
#include "daemon/work/marks.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"

/*
 * A disk that is reserved for one program. A child of uasd has its claim, and the program has one
 * end of a pipe. When the last copy of that end is closed, the disk goes back to its former driver,
 * which is recorded in case uasd is killed. The machine decides the driver during the lease and
 * after it (core/learn.c).
 */
struct disk_lease {
        enum driver restore;
        bool over;
        struct child *claim; /* a uasd-switch that only has the claim of the disk */
        struct later limit;  /* it does not have the claim yet */
        struct action
                next; /* a switch that begins when the child has ended; target DRIVER_NONE: none */
        struct bus_call *call;   /* call to be answered */
        struct bus_peer *holder; /* NULL: it was the holder of a lease of an earlier uasd */
        sd_event_source *end;    /* of its pipe */
};

bool lease_held(const struct entry *e)
{
        return e->lease && !e->lease->over;
}

bool lease_is_of(const struct entry *e, struct bus_call *call)
{
        return lease_held(e) && bus_peer_makes(e->lease->holder, call);
}

enum driver lease_restores(const struct entry *e)
{
        return e->lease->restore;
}

pid_t lease_pid(const struct entry *e)
{
        if (!e->lease)
                return 0;
        return child_pid(e->lease->claim);
}

bool lease_returns(const struct entry *e)
{
        const struct disk_lease *l = e->lease;
        bool claimed = l && l->claim && !l->limit.timer && l->next.target == DRIVER_NONE;

        return lease_held(e) && !claimed && !e->life.attempt.running;
}

/* ---- the holder ---- */

static void lease_name_holder(struct entry *e, pid_t pid)
{
        char path[32], comm[64] = "", harmless[128];
        struct disk *d = &e->life.disk;

        (void) snprintf(path, sizeof(path), "%ld/comm", (long) pid);
        if (pid > 0 && attr_read(e->manager->roots.proc, path, comm, sizeof(comm)) > 0)
                (void) sentence(d->lease, sizeof(d->lease), "%s (%ld) has it for itself.",
                                make_harmless(comm, harmless, sizeof(harmless)), (long) pid);
        else
                (void) copy_string(d->lease, sizeof(d->lease), "Somebody has it for himself.");
}

static void lease_on_pid(void *data, pid_t pid)
{
        struct entry *e = data;

        if (!lease_held(e))
                return;
        lease_name_holder(e, pid);
        bus_disk_changed(e);
}

static void lease_name_former(struct disk *d, enum driver restore)
{
        (void) sentence(d->lease, sizeof(d->lease),
                        "Somebody had it for himself: it goes back to %s.",
                        driver_to_string(restore));
}

/* ---- the end ---- */

static void lease_drop_claim(struct disk_lease *l)
{
        later_cancel(&l->limit);
        child_orphan(TAKE_PTR(l->claim));
}

static const char *lease_bus_error(const struct outcome *o)
{
        if (o->code == UASD_EXIT_DEFERRED)
                return UASD_BUS_ERROR_IN_USE;
        if (o->code == UASD_EXIT_NO_DISK)
                return UASD_BUS_ERROR_NO_SUCH_DISK;
        return SD_BUS_ERROR_FAILED;
}

static void lease_refuse(struct disk_lease *l, const struct outcome *o)
{
        char text[sizeof(o->text) * 4];

        if (l->call)
                bus_call_fail(l->call, lease_bus_error(o), "The disk cannot be had alone: %s",
                              make_harmless(o->text, text, sizeof(text)));
        l->call = bus_call_unref(l->call);
}

void lease_free(struct entry *e)
{
        struct disk_lease *l = TAKE_PTR(e->lease);

        if (!l)
                return;
        l->end = sd_event_source_disable_unref(l->end);
        lease_drop_claim(l);
        bus_call_unref(l->call);
        bus_peer_free(l->holder);
        free(l);
}

static void lease_forget(struct entry *e)
{
        mark_keep(e, MARK_LEASE, &(struct attachment_mark){.lease = DRIVER_NONE});
        lease_free(e);
        e->life.disk.lease[0] = '\0';
        bus_disk_changed(e);
}

void lease_gone(struct entry *e)
{
        if (!e->lease)
                return;
        lease_refuse(e->lease,
                     &(struct outcome){.code = UASD_EXIT_NO_DISK, .text = "it was unplugged"});
        lease_free(e);
}

static void lease_finish(struct entry *e, const char *why)
{
        struct disk_lease *l = e->lease;
        struct disk *d = &e->life.disk;

        if (l->over)
                return;
        log_info("%s: the lease has ended: %s", d->facts.interface, why);
        l->over = true;
        l->end = sd_event_source_disable_unref(l->end);
        if (l->claim && l->next.target == DRIVER_NONE)
                child_stop(l->claim);
        lease_name_former(d, l->restore);
        if (e->request.number) {
                e->request.pending = false;
                bus_request_done(e, UASD_EXIT_FAILED, "", why);
        }
        bus_disk_changed(e);
        queue_event(e, &(struct event){.type = EVENT_LEASE_ENDED, .target = l->restore});
}

static int lease_on_hang_up(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        lease_finish(data, "its holder has given it back, or is no more");
        return 0;
}

/* ---- the beginning ---- */

/* Recorded before the holder gets its answer. */
static int lease_grant(struct entry *e)
{
        struct disk_lease *l = e->lease;
        _cleanup_close_ int its_end = -1;
        int r = mark_set(e, MARK_LEASE, &(struct attachment_mark){.lease = l->restore});

        if (r < 0)
                return r;
        r = pipe_until_closed(e->manager->event, lease_on_hang_up, e, &l->end, &its_end);
        if (r < 0)
                return r;
        r = bus_call_return_fd(l->call, its_end);
        if (r < 0)
                return r;
        l->call = bus_call_unref(l->call);
        log_info("%s: it is leased", e->life.disk.facts.interface);
        return 0;
}

/* A lease that has not begun ends without a trace. */
static void lease_abandon(struct entry *e, const struct outcome *o)
{
        lease_refuse(e->lease, o);
        e->lease->over = true;
        queue_event(e, &(struct event){.type = EVENT_LEASE_ENDED, .target = e->lease->restore});
}

/* ---- the claim ---- */

/* The open of a sick disk may hang, and must not hang the event loop. A caller waits no longer, and
 * a slower disk is no use. */
#define CLAIM_USEC (20 * USEC_PER_SEC)

static void lease_on_line(void *data, const char *line, const struct outcome *so_far)
{
        struct entry *e = data;
        struct disk_lease *l = e->lease;

        if (!streq(line, SWITCH_KEPT) || !l->limit.timer)
                return;
        later_cancel(&l->limit);
        if (l->call && lease_grant(e) < 0)
                lease_abandon(e, &(struct outcome){.code = UASD_EXIT_FAILED,
                                                   .text = "the lease cannot be put on record"});
        else if (!l->over) /* the request under the lease has ended now */
                queue_event(e, &(struct event){.type = EVENT_LEASED});
}

/* The outcome is the reason, or the child was stopped. */
static void lease_claim_ended(struct entry *e, const struct outcome *o)
{
        struct disk_lease *l = e->lease;
        struct action next = l->next;

        l->next = (struct action){};
        if (next.target != DRIVER_NONE)
                switch_begin(e, &next);
        else if (l->call)
                lease_abandon(e, o);
        else /* another process took the disk during a switch, and keeps it */
                lease_finish(e, o->text);
}

static void lease_on_claim_end(void *data, const struct child_end *end)
{
        static const struct outcome died = {.code = UASD_EXIT_FAILED,
                                            .text = "the process that had its claim has died"};
        struct entry *e = data;

        e->lease->claim = NULL;
        lease_drop_claim(e->lease);
        lease_claim_ended(e, end->outcome->code < 0 ? &died : end->outcome);
}

/* It hangs in the kernel, and is reaped later. */
static void lease_on_limit(void *data)
{
        static const struct outcome late = {
                .code = UASD_EXIT_FAILED, .step = "claim", .text = "it does not answer in time"};
        struct entry *e = data;

        lease_drop_claim(e->lease);
        lease_claim_ended(e, &late);
}

static int lease_start_claim(struct entry *e, const char *how)
{
        const struct facts *f = &e->life.disk.facts;
        char attachment[ATTACHMENT_ARG_MAX];
        const char *const args[] = {how, attachment_arg(f, attachment), f->interface, NULL};
        struct disk_lease *l = e->lease;
        int r = child_claim(e->manager, args, lease_on_line, lease_on_claim_end, e, &l->claim);

        if (r < 0)
                return r;
        r = later_call(&l->limit, e->manager->event, CLAIM_USEC, lease_on_limit, e);
        if (r < 0)
                lease_drop_claim(l);
        return r;
}

/* ---- begin and adoption ---- */

int lease_new(struct entry *e, struct bus_call *call)
{
        struct disk_lease *l = calloc(1, sizeof(*l));
        int r = -ENOMEM;

        if (!l)
                return -ENOMEM;
        *l = (struct disk_lease){.restore = e->life.disk.facts.driver,
                                 .call = bus_call_ref(call),
                                 .holder = bus_peer_new(call)};
        e->lease = l;
        if (l->holder)
                r = lease_start_claim(e, "--claim");
        if (r < 0) {
                lease_free(e);
                return r;
        }
        lease_name_holder(e, 0);
        bus_peer_ask_pid(l->holder, lease_on_pid, e);
        bus_disk_changed(e);
        queue_event(e, &(struct event){.type = EVENT_LEASED});
        return 0;
}

void lease_adopt(struct entry *e, enum driver restore)
{
        struct disk *d = &e->life.disk;

        if (restore == DRIVER_NONE)
                return;
        e->lease = calloc(1, sizeof(*e->lease));
        if (!e->lease)
                return;
        *e->lease = (struct disk_lease){.restore = restore, .over = true};
        lease_name_former(d, restore);
        log_notice("%s: it was leased when an earlier uasd ended: it goes back to %s",
                   d->facts.interface, driver_to_string(restore));
        e->life.lease.active = true;
        learn(&e->life, &(struct event){.type = EVENT_LEASE_ENDED, .target = restore}, 0);
}

/* ---- during the lease ---- */

bool lease_releases(struct entry *e, const struct action *a)
{
        struct disk_lease *l = e->lease;

        if (!l || !l->claim)
                return false;
        l->next = *a;
        child_stop(l->claim);
        return true;
}

void lease_follow(struct entry *e)
{
        struct disk_lease *l = e->lease;

        if (!l)
                return;
        if (l->over) {
                if (!e->life.lease.active)
                        lease_forget(e);
                return;
        }
        /* Now a process that has the disk open without a claim does not matter. */
        if (!l->claim && !e->life.attempt.running && lease_start_claim(e, "--claim-again") < 0)
                lease_finish(e, "its claim cannot be taken again");
}
