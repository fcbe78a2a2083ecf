/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/policy-write.h"

#include "common/names.h"
#include "core/disk-words.h"
#include "core/history.h"
#include "core/keepoff.h"
#include "core/policy.h"
#include "core/quirk-join.h"
#include "ctl/boot-edit.h"
#include "ctl/boot.h"
#include "ctl/context.h"
#include "ctl/options.h"
#include "ctl/output.h"
#include "ctl/policy-kernel.h"
#include "ctl/quirks-say.h"
#include "sys/io/boot.h"
#include "sys/quirks/modprobed.h"

/* --kernel --write: one change of the file that this machine boots with. */
struct change {
        struct quirk_facts quirks;
        struct boot_edit file,
                backup; /* backup: the first version of the file, for auto. All 0: none */
        char *value;    /* the new one; empty: none */
        bool same;      /* there is nothing to change */
        bool restored;  /* nothing of ours is left after the change */
        bool by_itself; /* uasd has it changed, see policy_write_failed() */
        const struct facts *facts;
        enum driver target; /* DRIVER_NONE: the one without an entry of ours */
        char **dropped;     /* entries of others that the new value has no room for */
};

static void change_done(struct change *ch)
{
        boot_edit_done(&ch->file);
        boot_edit_done(&ch->backup);
        free(ch->value);
        quirk_facts_done(&ch->quirks);
        strv_free(ch->dropped);
}

/* The message has the file, the reason, and what to do by hand. */
static int change_refuse(const struct ctl *c, const struct change *ch, const char *path,
                         const char *why)
{
        const struct facts *f = ch->facts;

        log_error("%s is not changed: %s.", translated(path), translated(why));
        if (ch->target == DRIVER_NONE)
                log_info(
                        "To do it by hand, remove the entry for %04x:%04x from usb-storage.quirks=, and restart.",
                        f->vid, f->pid);
        else
                policy_say_words(c, f, ch->target);
        return UASD_EXIT_FAILED;
}

static int refuse_access(const char *path, int error)
{
        /* uasd-boot-entry.service is root, but may not write to a folder of another user. */
        if (error == -EACCES && geteuid() != 0)
                log_error("Cannot change %s: %s. Run it as root.", path, strerror(-error));
        else
                log_error("Cannot change %s: %s.", path, strerror(-error));
        if (error == -EACCES || error == -EPERM)
                return UASD_EXIT_UNAUTHORIZED;
        return UASD_EXIT_FAILED;
}

static int read_place(const struct ctl *c, struct change *ch)
{
        const struct boot_place *p = boot_place_find(&c->client.roots);
        const char *why;
        int r;

        if (!p && ch->quirks.built_in)
                return change_refuse(
                        c, ch, N_("The kernel command line"),
                        N_("uasctl does not know the file that this machine boots with"));
        if (!p)
                p = &boot_place_modprobe;
        r = boot_edit_read(&c->client.roots, p, false, &ch->file, &why);
        if (r == -EUCLEAN)
                return change_refuse(c, ch, p->path, why);
        if (r < 0)
                return refuse_access(p->path, r);
        return UASD_EXIT_OK;
}

static const struct quirk_line *change_find_line(const struct quirk_facts *q,
                                                 enum quirk_source source, const char *but)
{
        for (size_t i = q->lines.n; i > 0; i--) {
                const struct quirk_line *line = &q->lines.list[i - 1];

                if (line->source == source && !(but && line->file && streq(line->file, but)))
                        return line;
        }
        return NULL;
}

/* Returns the string that a boot gets from this file, or from modprobe.d if the file has none. */
static const char *change_value(const struct change *ch, const struct boot_edit *file)
{
        bool ours = ch->file.place->form == BOOT_MODPROBE;
        const struct quirk_line *line = change_find_line(
                &ch->quirks, QUIRK_MODPROBE, file == &ch->file ? NULL : ch->file.place->path);

        if (file->value && !ours)
                return file->value;
        if (line && !ch->quirks.built_in)
                return line->value;
        return "";
}

/* ---- a driver ---- */

static int change_make(const struct ctl *c, struct change *ch)
{
        const struct quirk_line *now = change_find_line(&ch->quirks, QUIRK_COMMAND_LINE, NULL);
        const char *base = change_value(ch, &ch->file), *path = ch->file.place->path, *why;
        _cleanup_(keepoff_done) struct keepoff made = {};
        _cleanup_(boot_edit_done) struct boot_edit backup = {};
        size_t n;
        _cleanup_free_ const struct facts **plugged = policy_plugged(&c->views, c->v, &n);

        why = boot_edit_not_booted(&c->client.roots, &ch->file);
        if (why)
                return change_refuse(c, ch, path, why);
        /* The file has none, and none by us was there: the boot loader adds the word itself, or it
         * is in another file. */
        if (now && !ch->file.value &&
            boot_edit_read(&c->client.roots, ch->file.place, true, &backup, &why) < 0)
                return change_refuse(c, ch, path,
                                     N_("this boot has usb-storage.quirks= from another place"));
        if (strspn(base, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:,") !=
            strlen(base))
                return change_refuse(
                        c, ch, path,
                        N_("the present entries have characters that uasctl does not know"));
        if (kernel_line_make(base, NULL, ch->facts, ch->target, plugged, n, &made) < 0)
                no_memory();
        if (made.n_left_out > 0)
                return change_refuse(
                        c, ch, path,
                        N_("the kernel takes 127 characters, and there is no room for this entry"));
        ch->same = streq(made.quirks, base) && ch->file.n_former == 0;
        ch->value = need(strdup(made.quirks));
        ch->dropped = TAKE_PTR(made.dropped);
        return UASD_EXIT_OK;
}

/* ---- auto ---- */

/* The string that the kernel did not take before uasctl changed it, with the entry that is in it
 * now. */
static bool was_too_long(const struct ctl *c, const char *former, const char *now,
                         const char *entry)
{
        _cleanup_strv_ char **dropped = NULL;
        char fitted[QUIRKS_MAX + 1];
        size_t n;
        _cleanup_free_ const struct facts **plugged = policy_plugged(&c->views, c->v, &n);

        if (strlen(former) <= QUIRKS_MAX)
                return false;
        if (quirks_fit(entry, former, plugged, n, fitted, &dropped) < 0)
                no_memory();
        return streq(fitted, now);
}

/* Removes the entries for this bridge, and adds the one that was there before uasctl changed the
 * file. */
static int change_unmake(const struct ctl *c, struct change *ch)
{
        const struct facts *f = ch->facts;
        const struct boot_place *p = ch->file.place;
        char others[QUIRKS_MAX + 1], former_others[QUIRKS_MAX + 1], entry[QUIRK_ENTRY_MAX],
                value[QUIRKS_MAX + 1] = "";
        const char *why, *first, *now = ch->file.value ?: "";
        bool changed;

        if (p->form == BOOT_MODPROBE)
                changed = ch->file.value != NULL;
        else
                changed = boot_edit_read(&c->client.roots, p, true, &ch->backup, &why) >= 0;
        if (!changed) {
                ch->same = true;
                if (quirks_entry_of(now, f->vid, f->pid, entry) == 0)
                        return UASD_EXIT_OK;
                return change_refuse(c, ch, p->path, N_("uasctl has not written the entry in it"));
        }
        first = change_value(ch, &ch->backup);
        if (strlen(now) > QUIRKS_MAX)
                return change_refuse(c, ch, p->path,
                                     N_("the present entries are longer than the kernel takes"));
        quirks_drop(now, f->vid, f->pid, others);
        quirks_drop(first, f->vid, f->pid, former_others);
        (void) quirks_entry_of(now, f->vid, f->pid, entry);
        if (strlen(first) <= QUIRKS_MAX)
                ch->restored = streq(others, former_others);
        else
                ch->restored = was_too_long(c, first, now, entry);
        if (ch->restored)
                ch->value = need(strdup(ch->backup.value ?: ""));
        else if (quirks_entry_of(first, f->vid, f->pid, entry) == 0 || strlen(first) > QUIRKS_MAX)
                ch->value = need(strdup(others));
        else if (quirks_prepend(others, entry, value) < 0)
                return change_refuse(
                        c, ch, p->path,
                        N_("the kernel takes 127 characters, and there is no room for the former entry"));
        else
                ch->value = need(strdup(value));
        ch->same = streq(ch->value, now) && !ch->restored;
        return UASD_EXIT_OK;
}

/* ---- both ---- */

static void say_done(const struct ctl *c, const struct change *ch, const char *policy)
{
        const struct boot_place *p = ch->file.place;
        const char *then = boot_place_command(&c->client.roots, p);

        if (then)
                log_info("%s is changed. Now run %s, and restart.", p->path, then);
        else
                log_info("%s is changed. Now restart.", p->path);
        if (ch->restored)
                log_info("Nothing of uasctl is left in it.");
        else if (p->form != BOOT_MODPROBE)
                log_info("The file as it was first is %s%s.", p->path, BOOT_BACKUP);
        /* As long as the record blames the bridge, uasd would have it written again. */
        if (ch->by_itself)
                log_info("To undo it: uasctl forget %s", facts_name(&c->v->disk.facts));
        if (!streq(policy, policy_to_string(POLICY_AUTO)) && ch->by_itself)
                log_info("and then: uasctl policy --kernel --write %s auto",
                         facts_name(&c->v->disk.facts));
        else if (!streq(policy, policy_to_string(POLICY_AUTO)))
                log_info("To undo it: uasctl policy --kernel --write %s auto",
                         facts_name(&c->v->disk.facts));
        if (c->v && ch->target != DRIVER_NONE)
                say_trim_is_lost(c, c->v, ch->target);
}

/* If the file differs from its first version only in our value, it gets exactly that back. */
static char *new_text(const struct change *ch)
{
        if (ch->restored && ch->backup.text && ch->file.value) {
                _cleanup_free_ char *ours = boot_edit_text(&ch->backup, ch->file.value);

                if (streq(ours, ch->file.text))
                        return need(strdup(ch->backup.text));
        }
        if (!*ch->value)
                return boot_edit_text(&ch->file, NULL);
        return boot_edit_text(&ch->file, ch->value);
}

static int change_carry_out(const struct ctl *c, const struct change *ch, const char *policy)
{
        _cleanup_free_ char *text = NULL;
        int r;

        if (ch->same)
                return log_answer(UASD_EXIT_OK, "There is nothing to change in %s.",
                                  ch->file.place->path);
        text = new_text(ch);
        boot_edit_print(&ch->file, text);
        (void) fflush(stdout);
        if (c->options->given & OPTION_DRY_RUN)
                return UASD_EXIT_OK;
        r = boot_edit_write(&c->client.roots, &ch->file, text, ch->restored);
        if (r == -ESTALE)
                return change_refuse(c, ch, ch->file.place->path,
                                     N_("another program has changed it meanwhile"));
        if (r < 0)
                return refuse_access(ch->file.place->path, r);
        say_done(c, ch, policy);
        return UASD_EXIT_OK;
}

/* ---- without a disk: what uasd-boot-entry.service does ---- */

/* The record blames the bridge, and nothing else wants it on uas. */
static bool needs_entry(const struct disk *d)
{
        const struct facts *f = &d->facts;

        return disk_has_root(d) && (f->distrusted || f->trial_failed) && f->caps.uas &&
               d->decision.target == DRIVER_USB_STORAGE;
}

static void say_written(const struct view *v, const char *path)
{
        const struct facts *f = &v->disk.facts;
        char names[256], id[USB_ID_MAX], why[HISTORY_TEXT_MAX], sentence[HISTORY_TEXT_MAX];
        const struct log_field fields[] = {
                {FIELD_INTERFACE, f->interface},
                {FIELD_DISK, view_block_names(v, names, sizeof(names))},
                {FIELD_USB_ID, history_usb_id(f, id, sizeof(id))},
                {FIELD_TO, driver_to_string(DRIVER_USB_STORAGE)},
                {FIELD_REASON, history_clause(f, why, sizeof(why))},
        };

        log_ending(LOG_NOTICE, MESSAGE_BOOT_ENTRY, fields, ELEMENTSOF(fields),
                   "%s %s: the running system is on it, and %s now starts it on usb-storage. %s",
                   f->interface, names, path, history_sentence(f, sentence, sizeof(sentence)));
}

/* For c->v. */
static int write_failed_disk(const struct ctl *c)
{
        _cleanup_(change_done) struct change ch = {
                .target = DRIVER_USB_STORAGE, .by_itself = true, .facts = &c->v->disk.facts};
        int r;

        if (quirk_facts_read(&c->client.roots, &ch.quirks) < 0)
                no_memory();
        r = read_place(c, &ch);
        if (r != UASD_EXIT_OK)
                return r;
        r = change_make(c, &ch);
        if (r != UASD_EXIT_OK || ch.same)
                return r;
        if (boot_place_command(&c->client.roots, ch.file.place))
                return change_refuse(c, &ch, ch.file.place->path,
                                     N_("a command must follow, which only a person runs"));
        r = change_carry_out(c, &ch, driver_to_string(DRIVER_USB_STORAGE));
        if (r == UASD_EXIT_OK && !(c->options->given & OPTION_DRY_RUN))
                say_written(c->v, ch.file.place->path);
        return r;
}

int policy_write_failed(struct ctl *c)
{
        int r = source_local(&c->client, DETAIL_ALL, NULL, &c->views), last_failure = UASD_EXIT_OK;
        size_t n = 0;

        if (r != UASD_EXIT_OK)
                return r;
        policy_leave_out_overrides(&c->views);
        for (size_t i = 0; i < c->views.n; i++) {
                c->v = c->views.list + i;
                if (!needs_entry(&c->v->disk))
                        continue;
                n++;
                r = write_failed_disk(c);
                if (r != UASD_EXIT_OK)
                        last_failure = r;
        }
        if (n == 0)
                log_info(
                        "UAS has failed with no disk of the running system: there is nothing to write.");
        return last_failure;
}

static int refuse_disk(const struct ctl *c, enum policy p)
{
        struct refusal refusal;

        if (p == POLICY_USB_STORAGE && c->v->disk.decision.rest == STATE_INCAPABLE)
                return policy_refuse_entry(c->v);
        refuse_policy(&c->v->disk.facts, p, c->options->given & OPTION_FORCE, &refusal);
        if (refusal.code == UASD_EXIT_OK)
                return UASD_EXIT_OK;
        if (refusal.force_helps)
                log_error("%s: %s --force overrides that.", VIEW_LABEL(c->v),
                          _(refusal_text(&refusal)));
        else
                log_error("%s: %s", VIEW_LABEL(c->v), _(refusal_text(&refusal)));
        return refusal.code;
}

int policy_write(struct ctl *c, const char *what, const char *policy)
{
        _cleanup_(change_done) struct change ch = {};
        int p = policy_from_string(policy), r;
        enum driver target = DRIVER_USB_STORAGE;
        struct facts bridge = {};

        if (p == POLICY_UAS)
                target = DRIVER_UAS;
        if (p < 0 || p == POLICY_IGNORE)
                return log_failure(UASD_EXIT_USAGE,
                                   "'%s' is no policy for the kernel: auto, uas or usb-storage.",
                                   policy);
        r = source_local(&c->client, DETAIL_NO_USERS, NULL, &c->views);
        if (r != UASD_EXIT_OK)
                return r;
        policy_leave_out_overrides(&c->views);
        /* The disk of an entry may be away for good. */
        if (p != POLICY_AUTO || ctl_is_plugged_in(c, what) ||
            !ctl_parse_bridge(what, &bridge.vid, &bridge.pid)) {
                r = ctl_select(c, what);
                if (r != UASD_EXIT_OK)
                        return r;
                r = refuse_disk(c, (enum policy) p);
                if (r != UASD_EXIT_OK)
                        return r;
        }
        ch.facts = &bridge;
        if (c->v)
                ch.facts = &c->v->disk.facts;
        if (p != POLICY_AUTO)
                ch.target = target;
        if (quirk_facts_read(&c->client.roots, &ch.quirks) < 0)
                no_memory();
        r = read_place(c, &ch);
        if (r != UASD_EXIT_OK)
                return r;
        if (p == POLICY_AUTO)
                r = change_unmake(c, &ch);
        else
                r = change_make(c, &ch);
        if (r != UASD_EXIT_OK)
                return r;
        if (p != POLICY_AUTO && !ch.same)
                policy_say_alike(&c->views, c->v, target);
        policy_say_dropped(ch.dropped);
        return change_carry_out(c, &ch, policy);
}
