/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/fold.h"

#include "common/log.h"
#include "common/util.h"
#include "ctl/verbs.h"

/* --help and help, from the tables of verbs and options. */

#define DISKS                                                                                                                    \
        "DISK is sdb, a device node or link, a mount point, a port (2-1), an interface (2-1:1.0), VID:PID or a serial number, "  \
        "as long as it fits one disk. For policy, forget and log it may be VID:PID:SERIAL of a disk that is not plugged in."

/* "list, log: Show ...". The verbs of an option that only some accept come first. */
static void print_option(const struct ctl_option *o, bool with_verbs)
{
        char left[64], text[256] = "";

        (void) snprintf(left, sizeof(left), o->letter ? "-%c, --%s%s" : "%c   --%s%s", o->letter ?: ' ', o->name,
                        o->argument ?: "");
        for (size_t i = 0; with_verbs && i < n_verbs; i++)
                if (verbs[i].takes & o->bit & ~(OPTION_JSON | OPTION_HOST))
                        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ", " : "",
                                        verbs[i].name);
        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ": " : "", o->help);
        fold_row(left, text, HELP_COLUMN);
}

static void print_verb(const struct verb *v)
{
        char left[64];

        if (v->group)
                printf("\n%s:\n", v->group);
        (void) snprintf(left, sizeof(left), "%s%s%s", v->name, *v->arguments ? " " : "", v->arguments);
        fold_row(left, v->help, HELP_COLUMN);
}

static void help_verb(const struct verb *v)
{
        char usage[96];

        (void) snprintf(usage, sizeof(usage), "uasctl %s [OPTIONS...] %s", v->name, v->arguments);
        fold_paragraph(usage);
        putchar('\n');
        fold_paragraph(v->help);
        printf("\nOptions:\n");
        for (size_t i = 0; i < n_option_rows; i++)
                if (option_rows[i].bit & (v->takes | OPTIONS_OF_ALL))
                        print_option(&option_rows[i], false);
        putchar('\n');
        if (strstr(v->arguments, "DISK"))
                fold_paragraph(DISKS);
        fold_paragraph("See uasctl(1) for more.");
}

static void help_all(void)
{
        fold_paragraph("uasctl [OPTIONS...] [VERB] [ARGUMENTS...]");
        putchar('\n');
        fold_paragraph("See and choose the kernel driver of USB disks: usb-storage or uas.");
        for (size_t i = 0; i < n_verbs; i++)
                print_verb(&verbs[i]);
        printf("\nOptions:\n");
        for (size_t i = 0; i < n_option_rows; i++)
                print_option(&option_rows[i], true);
        putchar('\n');
        fold_paragraph(DISKS);
        fold_paragraph("uasctl bench --help shows the options of bench. See uasctl(1) for the exit status.");
}

int verbs_help(const char *name)
{
        const struct verb *v = name ? verb_find(name) : NULL;

        if (name && !v) {
                tell_unknown_verb(name);
                return UASD_EXIT_USAGE;
        }
        if (v)
                help_verb(v);
        else
                help_all();
        return UASD_EXIT_OK;
}
