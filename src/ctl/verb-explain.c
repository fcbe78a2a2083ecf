/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/mentions.h"
#include "ctl/options.h"

#include <ctype.h>
#include <fcntl.h>

#include "core/explain.h"
#include "core/policy.h"
#include "core/smart.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "ctl/quirks-say.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/io/boot.h"
#include "sys/io/programs.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/modprobed.h"
#include "sys/usb/link.h"
#include "sys/usb/usbdisk.h"

#define CONFIG_MAX ((size_t) 4 * 1024 * 1024)

/* Whether this configuration has CONFIG_USB_UAS. Its first line is a comment, and so is an option
 * that is off. */
static int read_config(int dirfd, const char *path)
{
        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t n;

        if (fd < 0 || read_whole(fd, CONFIG_MAX, &text, &n) < 0)
                return -ENODATA;
        return strstr(text, "\nCONFIG_USB_UAS=") != NULL;
}

/*
 * Whether the running kernel is built with CONFIG_USB_UAS, by its configuration in /boot or
 * /usr/lib/modules. Without it usb-storage leaves no disk to uas. 1 or 0; -ENODATA: no such file.
 */
static int kernel_config_uas(const struct roots *roots)
{
        int r;

        if (!roots->kernel[0])
                return -ENODATA;
        r = read_config(roots->etc, path_join("../boot/config-", roots->kernel));
        if (r == -ENODATA)
                r = read_config(roots->lib, path_join("modules/", roots->kernel, "/config"));
        return r;
}

#define WORDS_MAX 32

/* The explanation of one disk. */
struct explanation {
        struct explain_row rows[_REASON_MAX];
        size_t n_rows;
        struct quirk_facts quirks;
        struct quirk_word words[WORDS_MAX]; /* they point into the quirks */
        size_t n_words;
        struct quirk_slip slips[QUIRK_SLIPS_MAX]; /* for this bridge */
        size_t n_slips;
        struct link_facts link;
        json_object *names;
        char kernel[512];
        char unbound[512];
        char initramfs[256];
        char smart[256];
};

static void explanation_done(struct explanation *t)
{
        quirk_facts_done(&t->quirks);
        json_putp(&t->names);
}

/* The remedy for the deciding entry, which depends on its origin. NULL: no entry decides. */
static const char *remedy_of_quirk(const struct explanation *t, char *ret, size_t size)
{
        const struct explain_row *row = explain_deciding(t->rows, t->n_rows);
        char text[600];

        if (row && row->reason == REASON_QUIRK)
                for (size_t i = 0; i < t->n_words; i++)
                        if (t->words[i].source != QUIRK_KEPT &&
                            t->words[i].effect <= QUIRK_SECOND) {
                                (void) snprintf(text, sizeof(text),
                                                _("%s Or: uasctl policy DISK uas"),
                                                quirk_word_remedy(t->words + i, ret, size));
                                (void) copy_string(ret, size, text);
                                return ret;
                        }
        return NULL;
}

/* The meaning of each letter, except of u, which the rows explain. */
static void print_letters(const struct quirk_word *w, unsigned kernel)
{
        const char *letters = strrchr(w->entry, ':');
        char text[160];

        if (!letters)
                return;
        for (const char *p = letters + 1; *p; p++) {
                char letter = (char) tolower((unsigned char) *p);
                const struct quirk_letter *known = quirk_letter_find(letter, kernel);

                if (letter == 'u')
                        continue;
                (void) snprintf(text, sizeof(text), "%s: %s", HARMLESS(((char[]){letter, '\0'})),
                                _(known ? known->means : N_("the kernel ignores this letter")));
                output_sentence("", text);
        }
}

static void print_quirks(const struct explanation *t, unsigned kernel)
{
        if (t->n_words)
                putchar('\n');
        for (size_t i = 0; i < t->n_words; i++) {
                const struct quirk_word *w = t->words + i;
                char who[512], effect[512], text[1500];

                (void) snprintf(text, sizeof(text), _("%s, by %s: %s"), w->entry,
                                quirk_word_who(w, who, sizeof(who)),
                                quirk_word_effect(w, effect, sizeof(effect)));
                output_sentence(i == 0 ? "Quirks" : "", text);
                print_letters(w, kernel);
                if (w->effect > QUIRK_SECOND)
                        output_sentence("", quirk_word_remedy(w, text, sizeof(text)));
        }
}

static void print_advice(const struct ctl *c, const char *interface, const struct explanation *t)
{
        char advice[512], named[512], command[REMEDY_COMMAND_MAX];

        (void) link_advice(&t->link, advice, sizeof(advice));
        if (*advice || *t->unbound || *t->initramfs || *t->smart ||
            json_object_array_length(t->names))
                putchar('\n');
        output_sentence("Initramfs", t->initramfs);
        output_sentence("SMART", output_named(t->smart, interface, named, sizeof(named)));
        output_sentence("Unbound", t->unbound);
        if (*t->unbound && remedy_here(&c->client.roots, REMEDY_KERNEL_LOG, interface, command,
                                       sizeof(command)) >= 0)
                output_command("", command);
        output_sentence("Advice", advice);
        mentions_print(t->names);
}

/* The answer in one sentence. */
static void print_answer(const struct view *v)
{
        const char *driver = view_driver(v), *target = view_target(v);
        char text[512];

        if (!driver && target)
                (void) snprintf(text, sizeof(text), _("%s has no driver. It should be on %s."),
                                VIEW_LABEL(v), target);
        else if (!driver)
                (void) snprintf(text, sizeof(text), _("%s has no driver."), VIEW_LABEL(v));
        else if (!target || streq(driver, target))
                (void) snprintf(text, sizeof(text), _("%s stays on %s."), VIEW_LABEL(v), driver);
        else
                (void) snprintf(text, sizeof(text), _("%s is on %s. It should be on %s."),
                                VIEW_LABEL(v), driver, target);
        output_head(v, text);
}

/* The state, and its sentence up to the reason that follows in the next line. */
static void explain_print_state(const struct view *v, const char *means)
{
        const char *reason = strstr(v->reason, means);
        size_t n = strlen(v->reason);
        char text[1200], sentence[1500] = "";

        if (reason)
                n = (size_t) (reason - v->reason);
        if (n > 0 && v->reason[n - 1] == ' ')
                n--;
        (void) copy_part(text, sizeof(text), v->reason, n);
        text_add(sentence, sizeof(sentence), "%s", state_to_string(v->disk.state));
        if (n > 0)
                text_add(sentence, sizeof(sentence), ". %s", text);
        output_sentence("State", sentence);
}

/* Answer, reason and remedy. */
static void print_decision(const struct view *v, const struct explanation *t)
{
        const struct explain_row *row = explain_deciding(t->rows, t->n_rows);
        const char *requested = NULL;
        char remedy[600], text[700];

        print_answer(v);
        if (!row)
                return;
        output_sentence("Reason", row->means);
        output_sentence("To change", output_named(remedy_of_quirk(t, remedy, sizeof(remedy))
                                                          ?: translated(row->remedy ?: ""),
                                                  facts_name(&v->disk.facts), text, sizeof(text)));
        if (row->reason == REASON_OVERRIDE)
                requested = view_target(v);
        if (v->disk.state == STATE_FAILED)
                output_format("Try again", "", "uasctl switch %s%s%s", facts_name(&v->disk.facts),
                              requested ? " " : "", requested ?: "");
        explain_print_state(v, _(row->means));
        output_sentence("History", v->history);
        output_sentence("Diagnosis", v->diagnosis);
        output_sentence("Kernel", t->kernel);
}

static const struct table_column row_columns[] = {
        {""}, {N_("ROW"), .folds = FIT_NAMES}, {N_("FITS")}, {N_("FOUND"), .folds = FIT_CUT}};

/* The rows that apply, or all. */
static void explain_print_rows(const struct ctl *c, const struct explanation *t)
{
        bool all = c->options->given & OPTION_ALL;
        struct libscols_table *table =
                table_new(row_columns, ELEMENTSOF(row_columns), c->options->legend);
        const char *arrow = style_utf8() ? "→" : "->";
        size_t left_out = 0;

        for (size_t i = 0; i < t->n_rows; i++) {
                const struct explain_row *row = &t->rows[i];
                const char *mark = row->decides ? arrow : "",
                           *fits = row->fits ? _("yes") : _("no");
                struct libscols_line *line;

                if (!row->applies && !all) {
                        left_out++;
                        continue;
                }
                line = table_row(table, NULL,
                                 (const char *const[]){mark, reason_to_string(row->reason), fits,
                                                       SENTENCE(translated(row->found))});
                if (row->decides)
                        (void) scols_line_set_color(line, SGR_BOLD);
        }
        table_print(table, row_columns, ELEMENTSOF(row_columns));
        if (left_out > 0 && c->options->legend)
                fold_print(stdout, _("The other rows do not apply. --all prints them too."), 0);
}

/* ---- steps for a disk that is to leave uas, but is in use ---- */

/* They lower what uas asks of the bridge, weakest first. Each is a write to sysfs that ends with
 * the attachment. */
static const struct {
        const char *before,
                *after; /* the attribute below /sys, without the name of the port or block device */
        bool of_port;
        const char *value, *means;
} steps[] = {
        /* clang-format off */
        {"bus/usb/devices", "port/usb3_lpm_permit", true, "0", N_("the link does not save power")},
        {"block", "queue/max_sectors_kb", false, "64", N_("commands of at most 64 KiB")},
        {"block", "device/queue_depth", false, "1", N_("one command at a time")},
        /* clang-format on */
};

static void print_step(const struct ctl *c, size_t i, const char *name, bool *ret_first)
{
        const char *path = path_join(steps[i].before, "/", name, "/", steps[i].after);
        char now[32];

        if (attr_read(c->client.roots.sys, path, now, sizeof(now)) <= 0 ||
            streq(now, steps[i].value))
                return;
        output_format(*ret_first ? N_("Gentler") : "", "", _("echo %s >/sys/%s # now %s; %s"),
                      steps[i].value, path, now, _(steps[i].means));
        *ret_first = false;
}

static void print_gentler(const struct ctl *c, const struct view *v)
{
        const struct disk *d = &v->disk;
        bool first = true;

        if (!view_leaves_uas(v) || d->n_users == 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                if (steps[i].of_port)
                        print_step(c, i, d->facts.port, &first);
                for (size_t l = 0; !steps[i].of_port && l < d->n_luns; l++)
                        if (d->luns[l].disk.name[0])
                                print_step(c, i, d->luns[l].disk.name, &first);
        }
        if (!first)
                output_sentence(
                        "",
                        N_("These steps of root end when the disk is unplugged. To undo one, write the value that it has now."));
}

/* ---- all of it ---- */

static void explanation_print(const struct ctl *c, const struct view *v,
                              const struct explanation *t)
{
        pager_open(c->options->pager);
        if (v != c->views.list)
                putchar('\n');
        print_decision(v, t);
        boot_next_print(c, v);
        print_gentler(c, v);
        putchar('\n');
        explain_print_rows(c, t);
        print_quirks(t, v->disk.facts.kernel);
        quirk_slips_print(t->slips, t->n_slips, t->n_words == 0);
        print_advice(c, facts_name(&v->disk.facts), t);
}

/* Keeps no pointer to v. */
static void explanation_read(const struct ctl *c, const struct view *v, struct explanation *ret)
{
        const struct facts *f = &v->disk.facts;
        int error = 0;

        if (quirk_facts_read(&c->client.roots, &ret->quirks) < 0)
                no_memory();
        ret->n_rows = explain(f, ret->rows, ELEMENTSOF(ret->rows));
        ret->n_words =
                quirk_words(&ret->quirks, f->vid, f->pid, ret->words, ELEMENTSOF(ret->words));
        ret->n_slips = quirk_slips_for(&ret->quirks.lines, f, ret->slips);
        if (f->driver == DRIVER_NONE)
                error = uas_probe_error(&c->client.roots, f->interface);
        (void) explain_unbound(f, error, ret->unbound, sizeof(ret->unbound));
        (void) explain_kernel(f, ret->rows, ret->n_rows, kernel_config_uas(&c->client.roots),
                              ret->kernel, sizeof(ret->kernel));
        (void) explain_initramfs(f, initramfs_command(&c->client.roots), ret->initramfs,
                                 sizeof(ret->initramfs));
        (void) smart_explain(f, ret->smart, sizeof(ret->smart));
        link_read(&c->client.roots, f, &ret->link);
        ret->names = mentions_read(&c->client.roots, f->interface);
}

static json_object *json_explanation(const struct view *v, const struct explanation *t)
{
        json_object *quirks = json_quirks(t->words, t->n_words);

        for (size_t i = 0; i < t->n_slips; i++)
                append(quirks, json_slip(t->slips + i));
        return put_members(
                json_disk(v), {"rows", json_rows(t->rows, t->n_rows, true)}, {"quirks", quirks},
                {"link", json_link(&t->link)}, {"names", json_object_get(t->names)},
                {"kernel", new_string(t->kernel)}, {"unbound", new_string(t->unbound)},
                {"initramfs", new_string(t->initramfs)}, {"smart_advice", new_string(t->smart)});
}

/* The rows follow the files as they are now. The state follows the configuration that uasd read at
 * its start. */
static void say_other_view(const struct client *c, const struct view *v,
                           const struct explanation *t)
{
        const struct explain_row *row = explain_deciding(t->rows, t->n_rows);

        if (!row || *v->disk.lease || streq(v->reason_id, reason_to_string(row->reason)))
                return;
        log_info(
                "uasd still follows the row %s; the table below follows the files as they are now. uasd reads uasd.conf when it starts.",
                v->reason_id);
        (void) client_say_command(c, REMEDY_RESTART, NULL, _("To restart it:"));
}

int verb_explain(struct ctl *c, char **args)
{
        (void) ctl_ask_daemon(c);
        for (size_t i = 0; i < c->views.n; i++) {
                _cleanup_(explanation_done) struct explanation told = {};
                const struct view *v = &c->views.list[i];

                explanation_read(c, v, &told);
                say_other_view(&c->client, v, &told);
                if (ctl_json(c))
                        append(c->json, json_explanation(v, &told));
                else
                        explanation_print(c, v, &told);
        }
        return UASD_EXIT_OK;
}
