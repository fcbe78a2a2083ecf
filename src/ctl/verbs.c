/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

#include <limits.h>

#include "common/log.h"
#include "common/util.h"

const struct verb verbs[] = {
        /* clang-format off */
        {"list", 0, 0, OPTION_JSON | OPTION_OUTPUT | OPTION_TREE | OPTION_HOST, FROM_NOWHERE, "", "List USB disks and what drives them (also without a verb)", verb_list},
        {"status", 0, 1, OPTION_JSON | OPTION_HOST, FROM_EITHER, "[DISK]", "Show one disk or all of them in full", verb_status},
        {"explain", 1, 1, OPTION_JSON, FROM_KERNEL, "DISK", "Show why a disk gets the driver it gets", verb_explain},
        {"db", 0, 1, OPTION_JSON, FROM_NOWHERE, "[DISK|VID:PID]", "Show what is known of a bridge, and who says so", verb_db},
        {"switch", 1, 2, OPTION_DRY_RUN | OPTION_FORCE | OPTION_WAIT | OPTION_HOST, FROM_NOWHERE, "DISK [uas|usb-storage]",
         "Switch a disk until it is unplugged; without a driver: take that back", verb_switch},
        {"policy", 0, 2, OPTION_JSON | OPTION_FORCE | OPTION_KERNEL | OPTION_HOST, FROM_NOWHERE, "[DISK] [auto|uas|usb-storage|ignore]",
         "Show or set what is kept for a disk, or list all of it; --kernel: for the kernel", verb_policy, 1},
        {"trim", 1, 2, OPTION_JSON | OPTION_FORCE, FROM_NOWHERE, "DISK [on|off]", "Show or set whether TRIM reaches a disk", verb_trim, 1},
        {"release", 1, 1, OPTION_HOST, FROM_DAEMON, "DISK", "End a hold and cancel what waits, now", verb_release},
        {"cancel", 1, 1, OPTION_HOST, FROM_DAEMON, "DISK", "Cancel what waits", verb_cancel},
        {"forget", 1, 1, OPTION_HOST, FROM_NOWHERE, "DISK", "Clear a disk's history and distrust", verb_forget},
        {"inhibit", 0, UINT_MAX, OPTION_JSON | OPTION_DISK | OPTION_WHY | OPTION_LIST, FROM_NOWHERE, "[COMMAND...]",
         "Run a command, while which no switch begins; --list: who does that", verb_inhibit},
        {"monitor", 0, 1, OPTION_JSON | OPTION_HOST, FROM_DAEMON, "[DISK]", "Show what happens, as it happens", verb_monitor},
        {"log", 0, 1, OPTION_JSON | OPTION_SINCE, FROM_NOWHERE, "[DISK]", "Show what has become of disks, newest last", verb_log},
        {"bench", 0, UINT_MAX, 0, FROM_NOWHERE, "[DISK]", "Measure a disk, and compare its drivers", NULL},
        {"metrics", 0, 0, OPTION_TEXTFILE, FROM_KERNEL, "", "Print metrics of all disks, for Prometheus", verb_metrics},
        {"report", 0, 0, OPTION_REDACT | OPTION_HWDB, FROM_NOWHERE, "", "Print all that a bug report needs", verb_report},
        {"wait", 1, 1, OPTION_WAIT | OPTION_HOST, FROM_NOWHERE, "DISK", "Wait until nothing is to come for a disk", verb_wait},
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

/* Data that does not come from the daemon is not available over the bus of another machine. */
static bool fits_host(const struct options *o, const struct verb *v)
{
        unsigned local = o->given & (OPTION_DRY_RUN | OPTION_KERNEL);
        const char *with = local & OPTION_DRY_RUN ? " --dry-run" : local ? " --kernel" : "";

        if (!o->host || (v->takes & OPTION_HOST && !local))
                return true;
        log_error("'%s%s' looks at the machine it runs on; there: ssh %s uasctl %s%s ...", v->name, with, o->host, v->name, with);
        return false;
}

const struct verb *verb_check(const struct options *o, char **words)
{
        const struct verb *v = verb_find(words[0] ?: "list");
        const char *refused;
        unsigned n = 0;

        if (!v) {
                log_error("There is no verb '%s'; uasctl --help lists them.", words[0]);
                return NULL;
        }
        while (words[0] && words[n + 1])
                n++;
        if (n < v->min_args || n > v->max_args) {
                log_error("Too %s arguments: uasctl %s%s%s", n < v->min_args ? "few" : "many", v->name, *v->arguments ? " " : "",
                          v->arguments);
                return NULL;
        }
        if (!fits_host(o, v))
                return NULL;
        refused = options_name(o->given & ~(v->takes | OPTIONS_OF_ALL | OPTION_HOST | OPTION_JSON));
        if (refused) {
                log_error("'%s' does not take --%s.", v->name, refused);
                return NULL;
        }
        /* Every verb accepts this option, but other output must not pass for JSON. */
        if ((o->given & OPTION_JSON) && (!(v->takes & OPTION_JSON) || (v->shows && n > v->shows))) {
                log_error("'%s' has no JSON to print%s: without --json it is done.", v->name,
                          v->shows ? " where it changes something" : "");
                return NULL;
        }
        return v;
}

int verb_run(const struct verb *v, struct ctl *c, char **args)
{
        int r = ctl_read(c, v->disks, args[0]);

        if (r == UASD_EXIT_OK)
                r = v->run(c, args);
        remote_close(&c->remote);
        views_done(&c->views);
        return r;
}

void verbs_help(void)
{
        printf("uasctl [OPTIONS...] [VERB] [ARGUMENTS...]\n\n"
               "See and choose the kernel driver of USB disks: usb-storage or uas.\n\n"
               "Verbs:\n");
        for (size_t i = 0; i < n_verbs; i++) {
                char left[64];

                (void) snprintf(left, sizeof(left), "%s %s", verbs[i].name, verbs[i].arguments);
                if (strlen(left) <= 28)
                        printf("  %-28s %s\n", left, verbs[i].help);
                else
                        printf("  %s\n  %-28s %s\n", left, "", verbs[i].help);
        }
        printf("\nDISK is sdb, a device node or link, a mount point, a port (2-1), an interface\n"
               "(2-1:1.0), VID:PID or a serial number, as long as it fits one disk; for policy,\n"
               "forget and log VID:PID:SERIAL also of a disk that is not plugged in.\n\n"
               "Options:\n");
        options_help();
        printf("\nuasctl bench --help shows its own options.\n"
               "See uasctl(1) for the exit status.\n");
}
