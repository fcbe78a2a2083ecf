/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/report.h"

#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "core/disk-words.h"
#include "core/history.h"
#include "daemon/feature/event-hooks.h"
#include "sys/io/boot.h"

#define ENDING_MAX 1024

/* Writes to the journal: each ending has its message id and the same fields. */

static void ending_send(int level, const char *id, const struct log_field *fields, size_t n,
                        const char *interface, const char *names, const char *text)
{
        char line[LOG_VALUE_MAX];

        (void) sentence(line, sizeof(line), "%s%s%s: %s", interface, names[0] ? " " : "", names,
                        text);
        log_ending(level, id, fields, n, "%s", line);
}

static void ending_of(struct entry *e, int level, const char *id, const char *text,
                      const char *from, const char *to, const char *step)
{
        const struct disk *d = &e->life.disk;
        char names[256], usb_id[USB_ID_MAX];
        const struct log_field fields[] = {
                {FIELD_DISK, luns_names(d->luns, d->n_luns, names, sizeof(names))},
                {FIELD_INTERFACE, d->facts.interface},
                {FIELD_USB_ID, history_usb_id(&d->facts, usb_id, sizeof(usb_id))},
                {FIELD_STATE, state_to_string(d->state)},
                {FIELD_FROM, from},
                {FIELD_TO, to},
                {FIELD_REASON, disk_reason_id(d)},
                {FIELD_STEP, step},
        };

        ending_send(level, id, fields, ELEMENTSOF(fields), d->facts.interface, names, text);
        event_hooks_ending(e, id, text, from, to);
}

static void ending_now(struct entry *e, int level, const char *id, const char *text)
{
        const struct disk *d = &e->life.disk;

        ending_of(e, level, id, text, driver_to_string(d->facts.driver),
                  driver_or_empty(d->decision.target), d->outcome.code >= 0 ? d->outcome.step : "");
}

/* Uses the drivers of the switch: the present driver and the present target may be others. */
static void ending_of_switch(struct entry *e, int level, const char *id, const char *text)
{
        const struct disk *d = &e->life.disk;
        const struct outcome *o = &d->outcome;

        if (o->to != DRIVER_NONE)
                ending_of(e, level, id, text, driver_to_string(o->from), driver_to_string(o->to),
                          o->step);
        else /* another process began it */
                ending_of(e, level, id, text, "",
                          driver_or_empty(d->last_code == UASD_EXIT_OK ? d->facts.driver
                                                                       : d->decision.target),
                          o->step);
}

/* The outcome of a foreign switch has no step. */
static const char *ended_at(char text[static ENDING_MAX], const char *how, bool astray,
                            const struct disk *d)
{
        const struct outcome *o = &d->outcome;

        if (!o->step[0])
                (void) sentence(text, ENDING_MAX, "%s: %s", how, o->text);
        else if (astray)
                (void) sentence(text, ENDING_MAX, "%s; step %s: %s", how, o->step, o->text);
        else if (d->last_code == UASD_EXIT_ROLLED_BACK)
                (void) sentence(text, ENDING_MAX, "%s at step %s: %s", how, o->step, o->text);
        else
                (void) sentence(text, ENDING_MAX, "%s, step %s: %s", how, o->step, o->text);
        return text;
}

static void report_end_of_switch(struct entry *e)
{
        const struct disk *d = &e->life.disk;
        const struct outcome *o = &d->outcome;
        enum driver now = d->facts.driver;
        bool astray = now == DRIVER_NONE || (o->to != DRIVER_NONE && now != o->from);
        char text[ENDING_MAX], how[160];

        if (d->last_code == UASD_EXIT_OK)
                ending_of_switch(e, LOG_NOTICE, MESSAGE_SWITCHED,
                                 o->text[0] ? o->text : "an interrupted switch was put in order");
        else if (d->last_code != UASD_EXIT_DEFERRED && astray) {
                if (now == DRIVER_NONE)
                        (void) sentence(how, sizeof(how), "not brought back, it has no driver");
                else
                        (void) sentence(how, sizeof(how), "not brought back, it is on %s",
                                        driver_to_string(now));
                ending_of_switch(e, LOG_WARNING, MESSAGE_STRANDED, ended_at(text, how, true, d));
        } else if (d->last_code == UASD_EXIT_ROLLED_BACK)
                ending_of_switch(e, LOG_WARNING, MESSAGE_ROLLED_BACK,
                                 ended_at(text, N_("rolled back"), false, d));
        else if (d->last_code == UASD_EXIT_DEFERRED)
                ending_of_switch(e, LOG_INFO, MESSAGE_WAITING,
                                 ended_at(text, N_("not now"), false, d));
        else
                ending_of_switch(e, LOG_WARNING, MESSAGE_FAILED,
                                 ended_at(text, N_("not switched"), false, d));
}

/* Reported directly, since a disk that has gone has no outcome any more. */
void report_unplugged(struct entry *e, const char *step)
{
        const struct life *l = &e->life;
        char text[256] = N_("unplugged in the middle of a switch");
        const char *from = "";

        if (l->attempt.to !=
            DRIVER_NONE) { /* otherwise another process began it, or it is a recovery */
                from = driver_to_string(l->attempt.from);
                (void) sentence(text, sizeof(text),
                                "unplugged in the middle of a switch from %s to %s", from,
                                driver_to_string(l->attempt.to));
        }
        ending_of(e, LOG_NOTICE, MESSAGE_UNPLUGGED, text, from, driver_or_empty(l->attempt.to),
                  step);
}

void report_state(struct entry *e, enum state before)
{
        const struct disk *d = &e->life.disk;
        char text[ENDING_MAX];

        if (d->state == STATE_HELD) /* reported when it began */
                return;
        if (d->state == STATE_SWITCHING && e->foreign.again.timer)
                log_info("%s: another uasd-switch is at work", d->facts.interface);
        else if (d->state == STATE_SWITCHING && e->life.attempt.to == DRIVER_NONE) /* adopted */
                log_info("%s: putting in order what an interrupted switch has left",
                         d->facts.interface);
        else if (d->state == STATE_SWITCHING)
                log_info("%s: switching from %s to %s%s", d->facts.interface,
                         driver_to_string(d->facts.driver), driver_to_string(d->decision.target),
                         e->life.hold.active ? ", held" : "");
        else if (before == STATE_SWITCHING)
                report_end_of_switch(e);
        else if (d->state == STATE_WAITING)
                ending_now(e, LOG_INFO, MESSAGE_WAITING, disk_reason(d, text, sizeof(text)));
        else if (d->decision.reason ==
                 REASON_JUST_UNBOUND) /* the usual state of a new disk until it is probed */
                log_debug("%s: %s", d->facts.interface, disk_reason(d, text, sizeof(text)));
        else if (d->state == STATE_TRIAL) /* its reason begins with the state */
                log_info("%s: %s", d->facts.interface, disk_reason(d, text, sizeof(text)));
        else if (d->state == STATE_SETTLED)
                log_info("%s: settled on %s: %s", d->facts.interface,
                         driver_to_string(d->facts.driver), disk_reason(d, text, sizeof(text)));
        else
                log_info("%s: %s: %s", d->facts.interface, state_to_string(d->state),
                         disk_reason(d, text, sizeof(text)));
}

void report_distrust(struct entry *e, const char *reason)
{
        const struct facts *f = &e->life.disk.facts;
        char text[ENDING_MAX], why[HISTORY_TEXT_MAX];

        /* The record contains the time, the firmware and the kernel. */
        (void) sentence(text, sizeof(text), "it failed under uas and is distrusted: %s",
                        streq(f->distrust_reason, reason) ? history_clause(f, why, sizeof(why))
                                                          : reason);
        ending_now(e, LOG_WARNING, MESSAGE_DISTRUSTED, text);
}

void report_old_initramfs(const struct entry *e)
{
        const char *command = initramfs_command(&e->manager->roots);

        log_warning(
                "%s: the initramfs is older than the record of this disk and may put it on uas at the next start; update it%s%s",
                e->life.disk.facts.interface, command ? ": " : "", command ?: "");
}

void report_trouble(struct entry *e, const struct finding *f)
{
        char text[ENDING_MAX];

        (void) sentence(text, sizeof(text),
                        "trouble on uas, which is not held against the disk: %s; to blame: %s",
                        f->what, blame_sentence(f->blame));
        ending_now(e, LOG_WARNING, MESSAGE_TROUBLE, text);
}

void report_diagnosis(struct entry *e)
{
        char text[ENDING_MAX];

        ending_now(e, LOG_WARNING, MESSAGE_NOT_UAS,
                   disk_diagnosis(&e->life.disk, text, sizeof(text)));
}

void report_cleared(struct entry *e, const char *before)
{
        char text[ENDING_MAX];

        (void) sentence(text, sizeof(text),
                        "it fails under usb-storage too, and is not distrusted any more for: %s",
                        before);
        ending_now(e, LOG_NOTICE, MESSAGE_CLEARED, text);
}

/* On either driver. */
void report_dropping(struct entry *e, unsigned times)
{
        char text[ENDING_MAX];

        (void) sentence(
                text, sizeof(text),
                "it dropped off the bus by itself and came back, %u times within ten minutes, which is not held against it; "
                "to blame: the cable, a connector or the power supply",
                times);
        ending_now(e, LOG_WARNING, MESSAGE_TROUBLE, text);
}

void report_trial(struct entry *e)
{
        ending_now(e, LOG_NOTICE, MESSAGE_TRIAL_PASSED, "it has passed its trial on uas");
}

void report_trim(struct entry *e, bool on, bool force)
{
        if (!on)
                ending_now(e, LOG_NOTICE, MESSAGE_TRIM, "TRIM is not kept on for it any more");
        else if (force)
                ending_now(e, LOG_NOTICE, MESSAGE_TRIM,
                           "TRIM is kept on for it by force: it does not say that it knows it");
        else
                ending_now(e, LOG_NOTICE, MESSAGE_TRIM, "TRIM is kept on for it");
}

void report_trim_of_another(struct entry *e)
{
        char text[ENDING_MAX];

        (void) sentence(
                text, sizeof(text),
                "TRIM is kept on for another disk behind this bridge, so it stays off for this one. "
                "Whether this one offers TRIM: uasctl status %s",
                facts_name(&e->life.disk.facts));
        ending_now(e, LOG_NOTICE, MESSAGE_TRIM, text);
}

void report_ejected(const char *interface, const char *names, const char *usb_id, const char *text)
{
        const struct log_field fields[] = {
                {FIELD_DISK, names}, {FIELD_INTERFACE, interface}, {FIELD_USB_ID, usb_id}};

        ending_send(LOG_NOTICE, MESSAGE_EJECTED, fields, ELEMENTSOF(fields), interface, names,
                    text);
}

void report_asked(const struct entry *e, const char *id, uid_t uid, const char *verb, bool force,
                  const char *argument)
{
        char names[256] = "", usb_id[USB_ID_MAX] = "", user[16], text[ENDING_MAX];
        const char *interface = e ? e->life.disk.facts.interface : id;
        const struct log_field fields[] = {
                {FIELD_DISK, names},
                {FIELD_INTERFACE, e ? interface : ""},
                {FIELD_USB_ID, e ? usb_id : id},
                {FIELD_UID, user},
        };

        (void) snprintf(user, sizeof(user), "%u", uid);
        if (e) {
                (void) luns_names(e->life.disk.luns, e->life.disk.n_luns, names, sizeof(names));
                (void) history_usb_id(&e->life.disk.facts, usb_id, sizeof(usb_id));
        }
        (void) sentence(text, sizeof(text),
                        force ? N_("uid %s wants, by force: %s%s%s") : N_("uid %s wants: %s%s%s"),
                        user, verb, isempty(argument) ? "" : " ", argument ?: "");
        ending_send(LOG_INFO, MESSAGE_ASKED, fields, ELEMENTSOF(fields), interface ?: "*", names,
                    text);
}

void report_hold(struct entry *e)
{
        ending_now(e, LOG_INFO, MESSAGE_HELD, "its mounts are held until it has been decided on");
}

void report_release(struct entry *e)
{
        ending_now(e, LOG_NOTICE, MESSAGE_RELEASED,
                   "its hold has ended: it may be mounted on the driver it has");
}
