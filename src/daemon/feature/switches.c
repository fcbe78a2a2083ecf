/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/features.h"

#include <fcntl.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "core/history.h"
#include "daemon/work/work.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

/* How often uasd checks for the end of a foreign switch. */
#define FOREIGN_USEC USEC_PER_SEC

/* Returns true if a foreign uasd-switch has the lock of the interface. ret_stale: it does not, and has left a record. */
static bool lock_held(const struct manager *m, const char *interface, bool *ret_stale)
{
        _cleanup_close_ int fd = -1;

        *ret_stale = false;
        fd = openat(m->roots.run, SWITCH_LOCK_PATH(interface), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return false;
        if (switch_lock_held(fd, SWITCH_LOCK))
                return true;
        *ret_stale = switch_recorded(&m->roots, interface);
        return false;
}

static void check_again(void *data)
{
        struct entry *e = data;

        if (e->life.attempt.running && !e->job)
                (void) switch_foreign_runs(e);
}

/*
 * uasd-switch removes its record before it releases the lock. No event reports the release, and other programs wait for the lock,
 * too. So uasd checks until it is free.
 */
static void ask_later(struct entry *e)
{
        (void) later_call(&e->foreign.again, e->manager->event, FOREIGN_USEC, check_again, e);
}

bool switch_foreign_runs(struct entry *e)
{
        bool stale;

        if (lock_held(e->manager, e->life.disk.facts.interface, &stale)) {
                ask_later(e);
                return true;
        }
        later_cancel(&e->foreign.again);
        if (stale && job_recover(e) >= 0)
                return false;
        keepoff_schedule(e->manager); /* because of the history that it has written */
        queue_rescan(e->manager, e->life.disk.facts.interface);
        queue_event(e, &(struct event){.type = EVENT_DONE, .foreign = true, .replugged = e->foreign.gone});
        return false;
}

static bool adopt_running(struct entry *e, bool *ret_stale)
{
        if (!lock_held(e->manager, e->life.disk.facts.interface, ret_stale))
                return false;
        e->life.attempt.running = true;
        e->foreign.gone = switch_of_another(&e->manager->roots, &e->life.disk.facts);
        ask_later(e);
        return true;
}

void switch_adopt(struct entry *e, bool untold)
{
        const struct facts *f = &e->life.disk.facts;
        bool stale;

        if (adopt_running(e, &stale))
                return;
        if (stale)
                e->life.attempt.running = job_recover(e) >= 0;
        else if (untold) { /* the switch has ended, but uasd ended before it could report that */
                log_notice("%s: a switch begun earlier has ended; it is on %s", f->interface, driver_to_string(f->driver));
                (void) attachment_change(&e->manager->roots, f, MARK_UNTOLD, &(struct attachment_mark){});
        }
}

void switch_begin(struct entry *e, const struct action *a)
{
        bool stale;
        int r;

        if (adopt_running(e, &stale))
                return;
        if (a->target == DRIVER_UAS)
                trouble_begin(e);
        r = job_start(e, a);
        if (r < 0)
                log_error("%s: cannot start uasd-switch: %s", e->life.disk.facts.interface, strerror(-r));
}

/* ---- eject ---- */

/*
 * A uasd-switch that ejects a disk. It waits for a switch that is under way, and takes the lock of the disk. So a switch that is
 * wanted meanwhile finds the lock held, as that of a foreign switch. The entry is removed when the disk has gone, like that of a
 * disk that was unplugged.
 */
struct eject {
        struct manager *manager;
        char interface[INTERFACE_NAME_MAX], names[256], usb_id[USB_ID_MAX]; /* it may be gone before its end is reported */
        sd_bus_message *call;                                               /* to be answered */
};

static void on_end(void *data, const struct child_end *end)
{
        _cleanup_free_ struct eject *j = data;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = j->call;
        const struct outcome *o = end->outcome;
        char text[sizeof(o->text) * 4];
        const char *error = o->code == UASD_EXIT_DEFERRED  ? UASD_BUS_ERROR_IN_USE
                            : o->code == UASD_EXIT_REFUSED ? UASD_BUS_ERROR_REFUSED
                            : o->code == UASD_EXIT_NO_DISK ? UASD_BUS_ERROR_NO_SUCH_DISK
                                                           : SD_BUS_ERROR_FAILED;

        (void) make_harmless(o->text[0] ? o->text : "uasd-switch has died", text, sizeof(text));
        if (o->code == UASD_EXIT_OK) {
                report_ejected(j->interface, j->names, j->usb_id, text);
                (void) sd_bus_reply_method_return(call, NULL);
        } else {
                (void) sd_bus_reply_method_errorf(call, error, "%s cannot be ejected: %s", j->interface, text);
                log_notice("%s: not ejected: %s", j->interface, text);
        }
        queue_rescan(j->manager, j->interface);
}

int switch_eject(struct entry *e, sd_bus_message *call)
{
        const char *const args[] = {"--eject", e->life.disk.facts.interface, NULL};
        struct eject *j = calloc(1, sizeof(*j));
        struct child *child;
        int r;

        if (!j)
                return -ENOMEM;
        j->manager = e->manager;
        memcpy(j->interface, e->life.disk.facts.interface, sizeof(j->interface));
        (void) luns_names(e->life.disk.luns, e->life.disk.n_luns, j->names, sizeof(j->names));
        (void) history_usb_id(&e->life.disk.facts, j->usb_id, sizeof(j->usb_id));
        r = child_switch(e->manager, args, false, NULL, on_end, j, &child);
        if (r < 0) {
                free(j);
                return r;
        }
        j->call = sd_bus_message_ref(call);
        return 0;
}
