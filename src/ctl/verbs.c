/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

#include <ctype.h>
#include <limits.h>

#include "common/names.h"
#include "ctl/context.h"
#include "ctl/options.h"
#include "ctl/output.h"

#define ANY UINT_MAX

const struct verb verbs[] = {
        /* clang-format off */
        {"list", 0, ANY, OPTION_JSON | OPTION_OUTPUT | OPTION_TREE, FROM_NOWHERE, "[DISK...]",
         N_("List USB disks and their drivers (also without a verb)"), verb_list, .group = N_("See disks")},
        {"status", 0, ANY, OPTION_JSON | OPTION_ALL, FROM_EITHER, "[DISK...]", N_("Show disks: link, health, reason, last events"), verb_status},
        {"explain", 1, ANY, OPTION_JSON | OPTION_ALL, FROM_KERNEL, "DISK...", N_("Show why a disk gets its driver"), verb_explain},
        {"db", 0, 1, OPTION_JSON, FROM_NOWHERE, "[DISK|VID:PID|NAME]", N_("Show what is known about a bridge, and the sources"), verb_db},
        {"log", 0, ANY, OPTION_JSON | OPTION_ALL | OPTION_SINCE | OPTION_LINES | OPTION_FOLLOW, FROM_NOWHERE, "[DISK...]", N_("Show past events, the newest last"), verb_log},
        {"monitor", 0, ANY, OPTION_JSON, FROM_DAEMON, "[DISK...]", N_("Show events as they happen"), verb_monitor},
        {"wait", 1, ANY, OPTION_WAIT, FROM_NOWHERE, "DISK...", N_("Wait until no switch is pending"), verb_wait},

        {"switch", 1, 2, OPTION_DRY_RUN | OPTION_FORCE | OPTION_WAIT, FROM_NOWHERE, "DISK [uas|usb-storage]",
         N_("Switch a disk until it is unplugged; without a driver, back to its policy"), verb_switch, .group = N_("Choose the driver")},
        {"policy", 0, 2, OPTION_JSON | OPTION_FORCE | OPTION_KERNEL | OPTION_WRITE | OPTION_DRY_RUN, FROM_NOWHERE, "[DISK] [auto|uas|usb-storage|ignore]",
         N_("Show or set the permanent driver of a disk; without DISK, list all that are set"), verb_policy, 1},
        {"cancel", 1, ANY, 0, FROM_DAEMON, "DISK...", N_("Cancel a switch that waits"), .each = true,
         .method = "Cancel", .done = N_("no switch waits for it now.")},
        {"release", 1, ANY, 0, FROM_DAEMON, "DISK...", N_("Let a held disk be mounted now, and cancel its switch"), .each = true,
         .method = "Release", .done = N_("released. No switch waits for it.")},
        {"forget", 1, ANY, 0, FROM_NOWHERE, "DISK...", N_("Clear the history of a disk, so that uas is tried again"), verb_forget},
        {"reset", 1, 1, OPTION_DRY_RUN, FROM_NOWHERE, "DISK", N_("Undo switch, policy, history and boot entry of a disk, after showing them"), verb_reset},
        {"eject", 1, ANY, 0, FROM_DAEMON_OR_ROOT, "DISK...", N_("Stop a disk and remove it, so that you can unplug it"), verb_eject, .each = true},
        {"inhibit", 0, ANY, OPTION_JSON | OPTION_DISK | OPTION_WHY | OPTION_LIST, FROM_NOWHERE, "[COMMAND...]",
         N_("Run a command during which no switch begins"), verb_inhibit},
        {"lease", 1, 2, 0, FROM_NOWHERE, "DISK [kernel]", N_("Take a disk for one program, which gives orders on the standard input"), verb_lease},
        {"trim", 1, 2, OPTION_JSON | OPTION_FORCE, FROM_NOWHERE, "DISK [on|off]", N_("Show or set whether the kernel uses TRIM on a disk"), verb_trim, 1},
        {"module", 0, 1, OPTION_LOAD, FROM_NOWHERE, "[PATH]", N_("Check whether the module uas fits this kernel: that of PATH, of uasd.conf, or of the system"), verb_module},

        {"bench", 0, ANY, 0, FROM_NOWHERE, "[DISK]", N_("Measure a disk, and compare its drivers"), NULL, .group = N_("Measure and report")},
        {"metrics", 0, 0, OPTION_TEXTFILE, FROM_KERNEL, "", N_("Print metrics of all disks, for Prometheus"), verb_metrics},
        {"report", 0, ANY, OPTION_REDACT | OPTION_HWDB, FROM_KERNEL, "[DISK...]", N_("Print a summary and the facts, for a bug report"), verb_report},
        {"help", 0, 1, 0, FROM_NOWHERE, "[VERB]", N_("Show this help, or that of a verb"), NULL},
        /* clang-format on */
};
const size_t n_verbs = ELEMENTSOF(verbs);

const struct verb *verb_find(const char *name)
{
        for (size_t i = 0; i < n_verbs; i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

/* ---- --help and help, from the tables of verbs and options ---- */

#define DISKS                                                                                                                      \
        N_("DISK is sdb, a device node or link, a mount point, a port (2-1), an interface (2-1:1.0), VID:PID or a serial number, " \
           "as long as it fits one disk. For policy, forget and log it may be VID:PID:SERIAL of a disk that is not plugged in.")

/* "list, log: Show ...". The verbs of an option that only some accept come first. */
static void print_option(const struct ctl_option *o, bool with_verbs)
{
        char left[64], text[512] = "";

        if (o->letter)
                (void) snprintf(left, sizeof(left), "-%c, --%s%s", o->letter, o->name,
                                o->argument ?: "");
        else
                (void) snprintf(left, sizeof(left), "    --%s%s", o->name, o->argument ?: "");
        for (size_t i = 0; with_verbs && i < n_verbs; i++)
                if (verbs[i].takes & o->bit & ~OPTION_JSON)
                        text_join(text, sizeof(text), "%s", verbs[i].name);
        text_add(text, sizeof(text), "%s%s", *text ? ": " : "", _(o->help));
        fold_row(left, text);
}

static void print_verb(const struct verb *v)
{
        char left[64];

        if (v->group)
                printf("\n%s:\n", _(v->group));
        (void) snprintf(left, sizeof(left), "%s%s%s", v->name, *v->arguments ? " " : "",
                        v->arguments);
        fold_row(left, _(v->help));
}

static void help_verb(const struct verb *v)
{
        char usage[96];

        (void) snprintf(usage, sizeof(usage), _("uasctl %s [OPTIONS...] %s"), v->name,
                        v->arguments);
        fold_paragraph(usage);
        putchar('\n');
        fold_paragraph(_(v->help));
        printf("\n%s:\n", _("Options"));
        for (size_t i = 0; i < n_option_rows; i++)
                if (option_rows[i].bit & (v->takes | OPTIONS_OF_ALL))
                        print_option(&option_rows[i], false);
        putchar('\n');
        if (strstr(v->arguments, "DISK"))
                fold_paragraph(_(DISKS));
        fold_paragraph(_("See uasctl(1) for more."));
}

static void help_all(void)
{
        fold_paragraph(_("uasctl [OPTIONS...] [VERB] [ARGUMENTS...]"));
        putchar('\n');
        fold_paragraph(_("See and choose the kernel driver of USB disks: usb-storage or uas."));
        for (size_t i = 0; i < n_verbs; i++)
                print_verb(&verbs[i]);
        printf("\n%s:\n", _("Options"));
        for (size_t i = 0; i < n_option_rows; i++)
                print_option(&option_rows[i], true);
        putchar('\n');
        fold_paragraph(_(DISKS));
        fold_paragraph(_(
                "uasctl bench --help shows the options of bench. See uasctl(1) for the exit status."));
}

/* The words and options of a command line, against the table of verbs. */

static unsigned mistakes_least(unsigned a, unsigned b)
{
        if (a < b)
                return a;
        return b;
}

/* The number of characters to insert, delete, replace or exchange with the next one; more than
 * `most`: at least so many. */
static unsigned mistakes_count(const char *a, const char *b, unsigned most)
{
        const char *next_a, *next_b;
        unsigned n;

        while (*a && tolower((unsigned char) *a) == *b)
                a++, b++;
        if (most == 0 || (!*a && !*b))
                return *a || *b;
        next_a = a + (*a != '\0');
        next_b = b + (*b != '\0');
        n = mistakes_least(mistakes_count(next_a, next_b, most - 1),
                           mistakes_least(mistakes_count(next_a, b, most - 1),
                                          mistakes_count(a, next_b, most - 1)));
        if (*a && *b && *a == b[1] && a[1] == *b)
                n = mistakes_least(n, mistakes_count(a + 2, b + 2, most - 1));
        return n + 1;
}

/* The verb that was probably meant; NULL: none is near. */
static const char *near_verb(const char *word)
{
        unsigned fewest = 2;
        const char *found = NULL;

        if (strlen(word) > 3)
                fewest = 3;
        for (size_t i = 0; fewest > 0 && i < n_verbs; i++) {
                unsigned n = mistakes_count(word, verbs[i].name, fewest - 1);

                if (n < fewest) {
                        fewest = n;
                        found = verbs[i].name;
                }
        }
        return found;
}

/* No verb has a digit, a slash or a colon. */
static bool is_disk_name(const char *word)
{
        return word[strcspn(word, "/:0123456789")] || (startswith(word, "sd") && strlen(word) <= 4);
}

static void tell_unknown_verb(const char *word)
{
        const char *near = near_verb(word);

        if (options_find(word))
                log_error("There is no verb '%s', but an option: uasctl --%s", word, word);
        else if (is_disk_name(word))
                log_error("There is no verb '%s'. To see a disk: uasctl status %s", word, word);
        else if (near)
                log_error("There is no verb '%s'. Did you mean '%s'? uasctl --help lists all.",
                          word, near);
        else
                log_error("There is no verb '%s'; uasctl --help lists them.", word);
}

/* The values in the row of a verb that sets something: "DISK [on|off]". n: gets the length. NULL:
 * it sets nothing. */
static const char *values_of(const struct verb *v, size_t *n)
{
        const char *last = strrchr(v->arguments, '[');

        if (!last || !strchr(last, '|'))
                return NULL;
        *n = strcspn(++last, "]");
        return last;
}

static bool is_value(const char *values, size_t n, const char *word)
{
        for (const char *at = values; at < values + n; at += strcspn(at, "|]") + 1)
                if (strlen(word) == strcspn(at, "|]") && strncmp(at, word, strlen(word)) == 0)
                        return true;
        return false;
}

/* Checks the second argument of a verb that sets something. */
static bool fits_value(const struct verb *v, const char *disk, const char *word)
{
        size_t n = 0;
        const char *values = values_of(v, &n);

        if (!values || is_value(values, n, word))
                return true;
        if (is_value(values, n, disk))
                log_error("The disk comes first: uasctl %s %s %s", v->name, word, disk);
        else if (strcasecmp(word, "bot") == 0 && is_value(values, n, DRIVER_NAME_BOT))
                log_error(
                        "'%s' is no driver. The driver for BOT is usb-storage: uasctl %s %s usb-storage",
                        word, v->name, disk);
        else
                log_error("'%s' is no value for %s: %.*s", word, v->name, (int) n, values);
        return false;
}

const struct verb *verb_check(const struct options *o, char **words)
{
        const char *verb = words[0] ?: "list";
        const struct verb *v = verb_find(verb);
        const char *refused, *blank;
        unsigned n = 0;

        if (!v) {
                tell_unknown_verb(verb);
                return NULL;
        }
        blank = *v->arguments ? " " : "";
        while (words[0] && words[n + 1])
                n++;
        if (n < v->min_args)
                return log_failure(NULL, "Too few arguments: uasctl %s%s%s", v->name, blank,
                                   v->arguments);
        if (n > v->max_args)
                return log_failure(NULL, "Too many arguments: uasctl %s%s%s", v->name, blank,
                                   v->arguments);
        if (n == 2 && !fits_value(v, words[1], words[2]))
                return NULL;
        refused = options_name(o->given & ~(v->takes | OPTIONS_OF_ALL | OPTION_JSON));
        if (refused)
                return log_failure(NULL, "'%s' does not take --%s.", v->name, refused);
        /* Every verb accepts this option, but other output must not pass for JSON. */
        if (!(o->given & OPTION_JSON) || (v->takes & OPTION_JSON && (!v->shows || n <= v->shows)))
                return v;
        if (v->shows)
                return log_failure(
                        NULL, "'%s' prints no JSON when it changes something: leave out --json.",
                        v->name);
        return log_failure(NULL, "'%s' prints no JSON: leave out --json.", v->name);
}

static int run_each(const struct verb *v, struct ctl *c, char **args)
{
        int ret = UASD_EXIT_OK;

        for (size_t i = 0; i < c->views.n; i++) {
                int r;

                c->v = &c->views.list[i];
                r = v->run ? v->run(c, args) : ctl_send(c, v->method, v->done);
                ret = ret ?: r;
        }
        return ret;
}

int verb_run(const struct verb *v, struct ctl *c, char **args)
{
        int r = ctl_read(c, v->disks, NULL);

        if (r == UASD_EXIT_OK && v->disks != FROM_NOWHERE)
                r = ctl_choose(c, args);
        if (r == UASD_EXIT_OK && v->each)
                r = run_each(v, c, args);
        else if (r == UASD_EXIT_OK)
                r = v->run(c, args);
        if (r == UASD_EXIT_OK && c->json)
                json_print(json_document("disks", json_object_get(c->json)));
        json_putp(&c->json);
        remote_close(&c->remote);
        views_done(&c->views);
        return r;
}

int verbs_help(const char *name)
{
        const struct verb *v;

        if (!name) {
                help_all();
                return UASD_EXIT_OK;
        }
        v = verb_find(name);
        if (!v) {
                tell_unknown_verb(name);
                return UASD_EXIT_USAGE;
        }
        help_verb(v);
        return UASD_EXIT_OK;
}
