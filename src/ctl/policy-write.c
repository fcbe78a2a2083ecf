/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/boot.h"

#include "core/keepoff.h"
#include "core/policy.h"
#include "ctl/output.h"
#include "sys/io/boot.h"
#include "sys/quirks/quirks.h"

/* --kernel --write: one change of the file that this machine boots with. */
struct change {
        struct quirk_facts quirks;
        struct boot_edit file;
        char value[QUIRKS_MAX + 1]; /* the new one; empty: none */
        bool same;                  /* there is nothing to change */
        bool restored;              /* nothing of ours is left after the change */
};

static void change_done(struct change *ch)
{
        boot_edit_done(&ch->file);
        quirk_facts_done(&ch->quirks);
}

/* The message has three parts: the file, the reason, and what to do by hand. */
static int refuse(const struct ctl *c, const char *path, const char *why)
{
        char place[BOOT_PLACE_MAX];

        log_error("%s is not changed: %s.", translated(path), translated(why));
        log_info("uasctl policy --kernel DISK prints the words to add by hand. %s", boot_place(c, place, sizeof(place)));
        return UASD_EXIT_FAILED;
}

static int refuse_access(const char *path, int error)
{
        log_error(error == -EACCES ? N_("Cannot change %s: %s. Run it as root.") : N_("Cannot change %s: %s."), path,
                  strerror(-error));
        return error == -EACCES || error == -EPERM ? UASD_EXIT_UNAUTHORIZED : UASD_EXIT_FAILED;
}

static int read_place(const struct ctl *c, struct change *ch)
{
        const struct boot_place *p = boot_place_find(&c->client.roots);
        const char *why;
        int k;

        if (!p && ch->quirks.built_in)
                return refuse(c, N_("The kernel command line"), N_("uasctl does not know the file that this machine boots with"));
        if (!p)
                p = &boot_place_modprobe;
        k = boot_edit_read(&c->client.roots, p, false, &ch->file, &why);
        if (k == -EUCLEAN)
                return refuse(c, p->path, why);
        return k < 0 ? refuse_access(p->path, k) : UASD_EXIT_OK;
}

static const struct quirk_line *line_of(const struct quirk_facts *q, enum quirk_source source, const char *but)
{
        for (size_t i = q->lines.n; i > 0; i--) {
                const struct quirk_line *line = &q->lines.list[i - 1];

                if (line->source == source && !(but && line->file && streq(line->file, but)))
                        return line;
        }
        return NULL;
}

/* Returns the string that a boot gets from this file, or from modprobe.d if the file has none. */
static const char *value_of(const struct change *ch, const struct boot_edit *file)
{
        bool ours = ch->file.place->form == BOOT_MODPROBE;
        const struct quirk_line *line = line_of(&ch->quirks, QUIRK_MODPROBE, file == &ch->file ? NULL : ch->file.place->path);

        if (file->value && !ours)
                return file->value;
        return line && !ch->quirks.built_in ? line->value : "";
}

/* ---- a driver ---- */

static int make(const struct ctl *c, struct change *ch, const struct facts *f, enum driver target)
{
        const struct quirk_line *now = line_of(&ch->quirks, QUIRK_COMMAND_LINE, NULL);
        const struct quirk_line base = {.value = (char *) value_of(ch, &ch->file)};
        _cleanup_(keepoff_done) struct keepoff made = {};
        _cleanup_(boot_edit_done) struct boot_edit backup = {};
        const char *path = ch->file.place->path, *why;

        /* The file has none, and none by us was there: the boot loader adds the word itself, or it is in another file. */
        if (now && !ch->file.value && boot_edit_read(&c->client.roots, ch->file.place, true, &backup, &why) < 0)
                return refuse(c, path, N_("this boot has usb-storage.quirks= from another place"));
        if (strspn(base.value, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:,") != strlen(base.value))
                return refuse(c, path, N_("the present entries have characters that uasctl does not know"));
        if (strlen(base.value) > QUIRKS_MAX || kernel_line_make(&base, NULL, f, target, &made) < 0 || made.n_left_out > 0)
                return refuse(c, path, N_("the kernel takes 127 characters, and there is no room for this entry"));
        ch->same = !*made.own;
        (void) copy_string(ch->value, sizeof(ch->value), made.quirks);
        return UASD_EXIT_OK;
}

/* ---- auto ---- */

/* Removes the entries for this bridge, and adds the one that was there before uasctl changed the file. */
static int unmake(const struct ctl *c, struct change *ch, const struct facts *f)
{
        const struct boot_place *p = ch->file.place;
        _cleanup_(boot_edit_done) struct boot_edit backup = {};
        char rest[QUIRKS_MAX + 1], first_rest[QUIRKS_MAX + 1], entry[QUIRK_ENTRY_MAX];
        const char *why, *first, *now = ch->file.value ?: "";
        bool changed =
                p->form == BOOT_MODPROBE ? ch->file.value != NULL : boot_edit_read(&c->client.roots, p, true, &backup, &why) >= 0;

        if (!changed) {
                ch->same = true;
                return quirks_entry_of(now, f->vid, f->pid, entry) == 0
                               ? UASD_EXIT_OK
                               : refuse(c, p->path, N_("uasctl has not written the entry in it"));
        }
        first = value_of(ch, &backup);
        if (strlen(first) > QUIRKS_MAX || strlen(now) > QUIRKS_MAX)
                return refuse(c, p->path, N_("the present entries are longer than the kernel takes"));
        quirks_drop(now, f->vid, f->pid, rest);
        quirks_drop(first, f->vid, f->pid, first_rest);
        ch->restored = streq(rest, first_rest);
        if (ch->restored)
                (void) copy_string(ch->value, sizeof(ch->value), backup.value ?: "");
        else if (quirks_entry_of(first, f->vid, f->pid, entry) == 0)
                (void) copy_string(ch->value, sizeof(ch->value), rest);
        else if (quirks_prepend(rest, entry, ch->value) < 0)
                return refuse(c, p->path, N_("the kernel takes 127 characters, and there is no room for the former entry"));
        ch->same = streq(ch->value, now) && !ch->restored;
        return UASD_EXIT_OK;
}

/* ---- both ---- */

static void say_done(const struct ctl *c, const struct change *ch, const char *policy)
{
        const struct boot_place *p = ch->file.place;
        const char *then = boot_place_command(&c->client.roots, p);

        if (then)
                log_info("%s is changed. Now run: %s. Restart after that.", p->path, then);
        else
                log_info("%s is changed. Restart after that.", p->path);
        if (ch->restored)
                log_info("Nothing of uasctl is left in it.");
        else if (p->form != BOOT_MODPROBE)
                log_info("The file as it was first is %s%s.", p->path, BOOT_BACKUP);
        if (!streq(policy, policy_to_string(POLICY_AUTO)))
                log_info("To undo it: uasctl policy --kernel --write %s auto", c->v->disk.facts.interface);
}

static int carry_out(const struct ctl *c, const struct change *ch, const char *policy)
{
        _cleanup_free_ char *text = boot_edit_text(&ch->file, *ch->value ? ch->value : NULL);
        int k;

        if (ch->same)
                return log_answer(UASD_EXIT_OK, "There is nothing to change in %s.", ch->file.place->path);
        boot_edit_print(&ch->file, text);
        (void) fflush(stdout);
        if (c->options->given & OPTION_DRY_RUN)
                return UASD_EXIT_OK;
        k = boot_edit_write(&c->client.roots, &ch->file, text, ch->restored);
        if (k == -ESTALE)
                return refuse(c, ch->file.place->path, N_("another program has changed it meanwhile"));
        if (k < 0)
                return refuse_access(ch->file.place->path, k);
        say_done(c, ch, policy);
        return UASD_EXIT_OK;
}

static int refuse_disk(const struct ctl *c, enum policy p)
{
        struct refusal refusal;

        refuse_policy(&c->v->disk.facts, p, c->options->given & OPTION_FORCE, &refusal);
        if (refusal.code != UASD_EXIT_OK)
                log_error(refusal.force_helps ? N_("%s: %s --force overrides that.") : "%s: %s", VIEW_LABEL(c->v),
                          TRANSLATED(refusal_text(&refusal)));
        return refusal.code;
}

int policy_write(struct ctl *c, const char *what, const char *policy)
{
        _cleanup_(change_done) struct change ch = {};
        int p = policy_from_string(policy), r;
        enum driver target = p == POLICY_UAS ? DRIVER_UAS : DRIVER_USB_STORAGE;
        struct facts bridge = {};
        const struct facts *f = &bridge;

        if (p < 0 || p == POLICY_IGNORE)
                return log_failure(UASD_EXIT_USAGE, "'%s' is no policy for the kernel: auto, uas or usb-storage.", policy);
        r = source_local(&c->client, false, &c->views);
        policy_leave_out_overrides(&c->views);
        /* The disk of an entry may be away for good. */
        if (r == UASD_EXIT_OK &&
            (p != POLICY_AUTO || ctl_is_plugged_in(c, what) || !ctl_parse_bridge(what, &bridge.vid, &bridge.pid))) {
                r = ctl_select(c, what);
                if (r != UASD_EXIT_OK)
                        return r;
                r = refuse_disk(c, (enum policy) p);
                f = &c->v->disk.facts;
        }
        if (quirk_facts_read(&c->client.roots, &ch.quirks) < 0)
                no_memory();
        if (r == UASD_EXIT_OK)
                r = read_place(c, &ch);
        if (r == UASD_EXIT_OK)
                r = p == POLICY_AUTO ? unmake(c, &ch, f) : make(c, &ch, f, target);
        if (r != UASD_EXIT_OK)
                return r;
        if (p != POLICY_AUTO && !ch.same)
                policy_say_alike(&c->views, c->v, target);
        return carry_out(c, &ch, policy);
}
