/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

#include <limits.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "term/fold.h"

#define ANY UINT_MAX

const struct verb verbs[] = {
        /* clang-format off */
        {"list", 0, ANY, OPTION_JSON | OPTION_OUTPUT | OPTION_TREE | OPTION_HOST, FROM_NOWHERE, "[DISK...]",
         N_("List USB disks and their drivers (also without a verb)"), verb_list, .group = N_("See disks")},
        {"status", 0, ANY, OPTION_JSON | OPTION_HOST, FROM_EITHER, "[DISK...]", N_("Show disks in full"), verb_status},
        {"explain", 1, ANY, OPTION_JSON | OPTION_ALL, FROM_KERNEL, "DISK...", N_("Show why a disk gets its driver"), verb_explain},
        {"db", 0, 1, OPTION_JSON, FROM_NOWHERE, "[DISK|VID:PID]", N_("Show what is known about a bridge, and the sources"), verb_db},
        {"log", 0, ANY, OPTION_JSON | OPTION_SINCE | OPTION_LINES | OPTION_FOLLOW, FROM_NOWHERE, "[DISK...]", N_("Show past events, the newest last"), verb_log},
        {"monitor", 0, ANY, OPTION_JSON | OPTION_HOST, FROM_DAEMON, "[DISK...]", N_("Show events as they happen"), verb_monitor},
        {"wait", 1, ANY, OPTION_WAIT | OPTION_HOST, FROM_NOWHERE, "DISK...", N_("Wait until no switch is pending"), verb_wait},

        {"switch", 1, 2, OPTION_DRY_RUN | OPTION_FORCE | OPTION_WAIT | OPTION_HOST, FROM_NOWHERE, "DISK [uas|usb-storage]",
         N_("Switch a disk until it is unplugged; without a driver, back to its policy"), verb_switch, .group = N_("Choose the driver")},
        {"policy", 0, 2, OPTION_JSON | OPTION_FORCE | OPTION_KERNEL | OPTION_WRITE | OPTION_DRY_RUN | OPTION_HOST, FROM_NOWHERE, "[DISK] [auto|uas|usb-storage|ignore]",
         N_("Show or set the permanent driver of a disk; without DISK, list all that are set"), verb_policy, 1},
        {"cancel", 1, ANY, OPTION_HOST, FROM_DAEMON, "DISK...", N_("Cancel a switch that waits"), verb_cancel},
        {"release", 1, ANY, OPTION_HOST, FROM_DAEMON, "DISK...", N_("Let a held disk be mounted now, and cancel its switch"), verb_release},
        {"forget", 1, ANY, OPTION_HOST, FROM_NOWHERE, "DISK...", N_("Clear the history of a disk, so that uas is tried again"), verb_forget},
        {"eject", 1, ANY, OPTION_HOST, FROM_DAEMON, "DISK...", N_("Stop a disk and remove it, so that you can unplug it"), verb_eject},
        {"inhibit", 0, ANY, OPTION_JSON | OPTION_DISK | OPTION_WHY | OPTION_LIST, FROM_NOWHERE, "[COMMAND...]",
         N_("Run a command during which no switch begins"), verb_inhibit},
        {"trim", 1, 2, OPTION_JSON | OPTION_FORCE, FROM_NOWHERE, "DISK [on|off]", N_("Show or set whether the kernel uses TRIM on a disk"), verb_trim, 1},

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

        (void) snprintf(left, sizeof(left), o->letter ? "-%c, --%s%s" : "%c   --%s%s", o->letter ?: ' ', o->name,
                        o->argument ?: "");
        for (size_t i = 0; with_verbs && i < n_verbs; i++)
                if (verbs[i].takes & o->bit & ~(OPTION_JSON | OPTION_HOST))
                        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ", " : "",
                                        verbs[i].name);
        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ": " : "", _(o->help));
        fold_row(left, text, HELP_COLUMN);
}

static void print_verb(const struct verb *v)
{
        char left[64];

        if (v->group)
                printf("\n%s:\n", _(v->group));
        (void) snprintf(left, sizeof(left), "%s%s%s", v->name, *v->arguments ? " " : "", v->arguments);
        fold_row(left, _(v->help), HELP_COLUMN);
}

static void help_verb(const struct verb *v)
{
        char usage[96];

        (void) snprintf(usage, sizeof(usage), _("uasctl %s [OPTIONS...] %s"), v->name, v->arguments);
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
        fold_paragraph(_("uasctl bench --help shows the options of bench. See uasctl(1) for the exit status."));
}

void verbs_help(const struct verb *v)
{
        if (v)
                help_verb(v);
        else
                help_all();
}
