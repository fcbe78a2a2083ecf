/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/policy-kernel.h"

#include <fcntl.h>

#include "core/explain.h"
#include "core/keepoff.h"
#include "core/policy.h"
#include "core/quirk-join.h"
#include "ctl/boot.h"
#include "ctl/context.h"
#include "ctl/output.h"
#include "ctl/quirks-say.h"
#include "ctl/schema.h"
#include "sys/io/boot.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/modprobed.h"
#include "sys/state/conf.h"

/* The lines for the two places. */
struct lines {
        struct quirk_facts quirks;
        struct kept_disks kept;
        struct keepoff command_line, modprobe;
};

static void lines_done(struct lines *l)
{
        keepoff_done(&l->command_line);
        keepoff_done(&l->modprobe);
        kept_disks_done(&l->kept);
        quirk_facts_done(&l->quirks);
}

void policy_leave_out_overrides(struct views *views)
{
        for (size_t i = 0; i < views->n; i++) {
                struct disk *d = &views->list[i].disk;

                d->facts.override_target = DRIVER_NONE;
                d->facts.override_forced = false;
                decide(&d->facts, &d->decision);
        }
}

static void add_plugged_in(const struct views *views, struct kept_disks *kept)
{
        for (size_t i = 0; i < views->n; i++) {
                const struct disk *d = &views->list[i].disk;
                const struct facts *f = &d->facts;
                enum policy policy = kept_policy(f);
                char name[HISTORY_KEY_MAX];
                struct kept_disk *k;
                bool twin = false;

                if (d->decision.reason == REASON_VERDICT_BAD)
                        policy = POLICY_USB_STORAGE;
                for (size_t j = 0; j < views->n; j++)
                        twin = twin || facts_twins(f, &views->list[j].disk.facts);
                if (policy != POLICY_AUTO) {
                        k = need(kept_disk(kept, f->vid, f->pid,
                                           kept_name(f, twin, name, sizeof(name))));
                        k->policy = policy;
                }
                if (kept_disks_plugged(kept, f, twin) < 0)
                        no_memory();
        }
}

const struct facts **policy_plugged(const struct views *views, const struct view *first,
                                    size_t *ret_n)
{
        const struct facts **list = need(calloc(views->n + 1, sizeof(*list)));
        size_t n = 0;

        if (first)
                list[n++] = &first->disk.facts;
        for (size_t i = 0; i < views->n; i++)
                if (views->list + i != first)
                        list[n++] = &views->list[i].disk.facts;
        *ret_n = n;
        return list;
}

/* The author of an entry that the kernel does not use wants it as long as no policy says otherwise.
 */
static bool keeps_entry(const struct lines *l, const char *base, const struct view *v)
{
        char letters[QUIRK_ENTRY_MAX];
        const struct facts *f = &v->disk.facts;

        return v->disk.decision.target == DRIVER_UAS && f->policy != POLICY_UAS &&
               quirks_find(base, f->vid, f->pid, letters) > 0 && strchr(letters, 'u') &&
               quirks_find(l->quirks.parameter, f->vid, f->pid, letters) == 0;
}

/* Makes the line of one place from the lines that are there. */
static int lines_make(struct lines *l, enum quirk_source place, const struct views *views,
                      const struct view *v, struct keepoff *ret)
{
        _cleanup_free_ char *base = need(quirks_at(&l->quirks, place));
        size_t n;
        _cleanup_free_ const struct facts **plugged = policy_plugged(views, v, &n);
        enum driver target = DRIVER_NONE;

        if (v && keeps_entry(l, base, v))
                target = DRIVER_USB_STORAGE;
        else if (v)
                target = v->disk.decision.target;
        if (kernel_line_make(base, &l->kept, v ? &v->disk.facts : NULL, target, plugged, n, ret) <
            0)
                return UASD_EXIT_FAILED;
        return UASD_EXIT_OK;
}

static int lines_read_files(const struct roots *roots, struct lines *l)
{
        _cleanup_(config_done) struct config config;
        int r;

        config_init(&config);
        r = conf_load(roots, &config, NULL,
                      NULL); /* the reader of the disks has reported errors in it */
        if (r < 0)
                return r;
        r = kept_disks_read(roots, &config, NULL, &l->kept);
        if (r < 0)
                return r;
        return quirk_facts_read(roots, &l->quirks);
}

/* Lists the disks whose entries do not fit. */
static int say_left_out(const struct keepoff *line, bool modprobe)
{
        for (size_t i = 0; i < line->n_left_out; i++)
                if (modprobe)
                        log_error(
                                "The quirks of usb-storage take %d characters, and there is no room for %s (%s) in modprobe.d: shorten the other entries.",
                                QUIRKS_MAX, line->left_out[i], line->left_out_disks[i]);
                else
                        log_error(
                                "The quirks of usb-storage take %d characters, and there is no room for %s (%s) on the kernel command line: shorten the other entries.",
                                QUIRKS_MAX, line->left_out[i], line->left_out_disks[i]);
        if (line->n_left_out)
                return UASD_EXIT_FAILED;
        return UASD_EXIT_OK;
}

static bool speaks_uas_alone(const struct kept_disks *k, const struct kept_disk *d)
{
        for (size_t i = 0; i < k->n; i++)
                if (k->list[i].uas_alone && k->list[i].vid == d->vid && k->list[i].pid == d->pid)
                        return true;
        return false;
}

void policy_say_alike(const struct views *views, const struct view *one, enum driver target)
{
        for (size_t i = 0; i < views->n; i++) {
                const struct view *v = views->list + i;
                const struct facts *f = &v->disk.facts, *g = &one->disk.facts;

                if (v != one && f->vid == g->vid && f->pid == g->pid &&
                    v->disk.decision.target != target)
                        log_warning(
                                "The entry would also apply to %s, which should be on %s: the kernel compares only %04x:%04x.",
                                VIEW_LABEL(v), driver_to_string(v->disk.decision.target), f->vid,
                                f->pid);
        }
}

/* The kernel cannot distinguish two disks of the same model, but their policies may differ. */
static void say_alike(const struct lines *l, const struct views *views, const struct view *one)
{
        if (one && (*l->command_line.own || *l->modprobe.own))
                policy_say_alike(views, one, one->disk.decision.target);
        for (size_t i = 0; !one && i < l->kept.n; i++) {
                const struct kept_disk *d = l->kept.list + i;

                if (d->policy != POLICY_USB_STORAGE || d->no_uas ||
                    keepoff_wanted(&l->kept, d->vid, d->pid))
                        continue;
                if (speaks_uas_alone(&l->kept, d))
                        log_warning(
                                "%04x:%04x is left out, although %s should be on usb-storage: a plugged-in disk of this model speaks only UAS, and would have no driver.",
                                d->vid, d->pid, *d->name ? d->name : _("every one"));
                else
                        log_warning(
                                "%04x:%04x is left out, although %s should be on usb-storage: another disk of this model should not, and the kernel compares only VID:PID.",
                                d->vid, d->pid, *d->name ? d->name : _("every other one"));
        }
}

static size_t lines_count(const struct lines *l, enum quirk_source source)
{
        size_t n = 0;

        for (size_t i = 0; i < l->quirks.lines.n; i++)
                n += l->quirks.lines.list[i].source == source;
        return n;
}

/* Says what the kernel does not use of what is there. Returns true if the new line mends something.
 */
static bool say_unused(const struct lines *l)
{
        const struct quirk_lines *lines = &l->quirks.lines;
        const struct quirk_line *last = quirk_lines_last(&l->quirks);
        bool mends = false;

        quirk_slips_say(lines);
        for (size_t i = 0; i < lines->n; i++) {
                const struct quirk_line *line = lines->list + i;
                const struct quirk_word word = {.source = line->source, .line = line};
                size_t length = strlen(line->value);
                char who[400];

                if (length > QUIRKS_MAX && l->quirks.built_in)
                        log_warning(
                                "The quirks of usb-storage, from %s, have %zu characters. The kernel takes %d, and uses none of these entries.",
                                quirk_word_who(&word, who, sizeof(who)), length, QUIRKS_MAX);
                else if (length > QUIRKS_MAX)
                        log_warning(
                                "The quirks of usb-storage, from %s, have %zu characters. The kernel takes %d, and cannot load usb-storage.",
                                quirk_word_who(&word, who, sizeof(who)), length, QUIRKS_MAX);
                mends = mends || length > QUIRKS_MAX;
                if (line == last || (l->quirks.built_in && line->source == QUIRK_MODPROBE))
                        continue;
                if (line->source == QUIRK_COMMAND_LINE) {
                        log_warning(
                                "The kernel uses only the last usb-storage.quirks=. Delete this word: usb-storage.quirks=%s",
                                line->value);
                        mends = true;
                } else if (last && last->source == QUIRK_MODPROBE) {
                        log_warning(
                                "The kernel uses only the last quirks= of modprobe.d. Delete the one in %s.",
                                quirk_word_who(&word, who, sizeof(who)));
                        mends = true;
                }
        }
        return mends;
}

void policy_say_dropped(char *const *dropped)
{
        char text[1024] = "";

        for (size_t i = 0; dropped && dropped[i]; i++) {
                if (i > 0)
                        text_add(text, sizeof(text), ",");
                text_add(text, sizeof(text), "%s", dropped[i]);
        }
        if (*text)
                log_warning("Left out, since the string is full: %s", text);
}

#define KERNEL_WORD_MAX (sizeof("usb-storage.quirks=") + QUIRKS_MAX)

/* Returns ret, or NULL if there is no word to add. */
static const char *kernel_word(const struct keepoff *made, char ret[static KERNEL_WORD_MAX])
{
        (void) concat(ret, KERNEL_WORD_MAX, "usb-storage.quirks=", made->quirks);
        if (!*made->quirks)
                return NULL;
        return ret;
}

static void say_how(const struct ctl *c, const struct lines *l)
{
        const char *command = initramfs_command(&c->client.roots);
        char place[BOOT_PLACE_MAX], word[KERNEL_WORD_MAX];

        if (l->quirks.built_in) {
                log_info(
                        "usb-storage is built into this kernel, so it reads only the kernel command line, not modprobe.d.");
                return;
        }
        if (lines_count(l, QUIRK_COMMAND_LINE) > 0)
                log_info(
                        "The kernel command line already has usb-storage.quirks=. Change it there: it overrules modprobe.d.");
        else
                log_info(
                        "One of the two places is enough. The kernel command line overrules everything in modprobe.d.");
        if (boot_place_find(&c->client.roots))
                log_info("%s",
                         boot_place(c, kernel_word(&l->command_line, word), place, sizeof(place)));
        if (command)
                log_info(
                        "After a change in modprobe.d, rebuild the initramfs, which has a copy: %s",
                        command);
        else
                log_info("After a change in modprobe.d, rebuild the initramfs, which has a copy.");
}

static void lines_print(const struct ctl *c, const struct lines *l)
{
        const struct boot_place *place = boot_place_find(&c->client.roots);
        char word[KERNEL_WORD_MAX];

        if (*l->command_line.quirks && c->options->legend)
                printf(_("# For the kernel command line, in %s:\n"),
                       place ? place->path : _("the boot loader's configuration"));
        if (kernel_word(&l->command_line, word))
                printf("%s\n", word);
        if (l->quirks.built_in || !*l->modprobe.quirks)
                return;
        if (c->options->legend)
                printf("%s",
                       _("# Or for a file in /etc/modprobe.d, instead of a line for usb-storage that is there:\n"));
        printf("options usb-storage quirks=%s\n", l->modprobe.quirks);
}

static void say_denied(const struct ctl *c, const struct lines *l)
{
        if (l->quirks.lines.denied ||
            (faccessat(c->client.roots.etc, "modprobe.d", R_OK | X_OK, 0) < 0 && errno == EACCES))
                log_warning(
                        "This user may not read all of modprobe.d. The lines lack the entries there: run it as root.");
}

int policy_refuse_entry(const struct view *v)
{
        log_error("%s stays on its driver, with any entry: %s", VIEW_LABEL(v),
                  _(reason_sentence(v->disk.decision.reason)));
        if (v->disk.decision.rest == STATE_INCAPABLE)
                return UASD_EXIT_INCAPABLE;
        return UASD_EXIT_REFUSED;
}

static int lines_make_both(struct ctl *c, const char *what, struct lines *l)
{
        int r = source_local(&c->client, DETAIL_NO_USERS, NULL, &c->views);

        if (r != UASD_EXIT_OK)
                return r;
        policy_leave_out_overrides(&c->views);
        if (what) {
                r = ctl_select(c, what);
                if (r != UASD_EXIT_OK)
                        return r;
                if (c->v->disk.decision.target == DRIVER_NONE)
                        return policy_refuse_entry(c->v);
        }
        r = lines_read_files(&c->client.roots, l);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read policies and history: %s",
                                   strerror(-r));
        add_plugged_in(&c->views, &l->kept);
        r = lines_make(l, QUIRK_COMMAND_LINE, &c->views, c->v, &l->command_line);
        if (r != UASD_EXIT_OK)
                return r;
        return lines_make(l, QUIRK_MODPROBE, &c->views, c->v, &l->modprobe);
}

void policy_say_words(const struct ctl *c, const struct facts *f, enum driver target)
{
        _cleanup_(quirk_facts_done) struct quirk_facts quirks = {};
        _cleanup_(keepoff_done) struct keepoff made = {};
        _cleanup_free_ const struct facts **plugged = NULL;
        _cleanup_free_ char *base = NULL;
        char place[BOOT_PLACE_MAX], word[KERNEL_WORD_MAX];
        size_t n;

        if (quirk_facts_read(&c->client.roots, &quirks) < 0)
                no_memory();
        base = need(quirks_at(&quirks, QUIRK_COMMAND_LINE));
        plugged = policy_plugged(&c->views, c->v, &n);
        if (kernel_line_make(base, NULL, f, target, plugged, n, &made) < 0)
                no_memory();
        if (!*made.quirks)
                return;
        log_info("The word for the kernel command line: %s", kernel_word(&made, word));
        log_info("%s", boot_place(c, word, place, sizeof(place)));
}

int policy_kernel(struct ctl *c, const char *what)
{
        _cleanup_(lines_done) struct lines lines = {};
        int left_out, r = lines_make_both(c, what, &lines);
        bool mends;

        if (r != UASD_EXIT_OK)
                return r;
        mends = say_unused(&lines);
        policy_say_dropped(lines.command_line.dropped);
        left_out = say_left_out(&lines.command_line, false);
        if (!lines.quirks.built_in && say_left_out(&lines.modprobe, true) != UASD_EXIT_OK)
                left_out = UASD_EXIT_FAILED;
        if (c->v && left_out != UASD_EXIT_OK)
                return left_out; /* a line without the requested disk is useless */
        say_alike(&lines, &c->views, c->v);
        say_denied(c, &lines);
        /* The command line overrules modprobe.d, so an entry is not missing there. */
        if (!*lines.command_line.own &&
            (!*lines.modprobe.own || lines_count(&lines, QUIRK_COMMAND_LINE) > 0) && !mends)
                log_info("There is no entry to add.");
        else
                say_how(c, &lines);
        if (c->v && *lines.command_line.own)
                say_trim_is_lost(c, c->v, c->v->disk.decision.target);
        if (!c->options->json)
                lines_print(c, &lines);
        else if (lines.quirks.built_in)
                json_print(json_kernel(&lines.command_line, NULL, NULL));
        else
                json_print(json_kernel(&lines.command_line, &lines.modprobe,
                                       initramfs_command(&c->client.roots)));
        return left_out;
}
