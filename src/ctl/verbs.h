/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "core/history.h"
#include "ctl/context.h"
#include "ctl/options.h"
#include "term/json.h"
#include "term/terminal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A verb reports errors itself and returns an exit status: an enum uasd_exit, or with inhibit that
 * of its command. args: the words after it, NULL-terminated. Its row limits their number.
 */
struct verb {
        const char *name;
        unsigned min_args, max_args;
        unsigned takes; /* enum option_bit */
        enum disks_source
                disks; /* read into c->views; with names in args, only those (ctl_choose()) */
        const char *arguments; /* for --help */
        const char *help;
        int (*run)(struct ctl *c, char **args); /* NULL: a method, bench (a program), or help */
        unsigned shows; /* with more arguments than this it changes what it shows; 0: no such limit
                         */
        const char *group; /* the heading in front of it in --help; NULL: that of the row before */
        /* run() is called for each disk, which is c->v. A failure does not keep the others from it.
         * The first one counts. */
        bool each;
        /* Instead of run(): the method of each disk, and what is printed when it has returned. */
        const char *method, *done;
};

#define VERB_BENCH "bench"
#define VERB_HELP "help"

extern const struct verb verbs[];
extern const size_t n_verbs;

const struct verb *verb_find(const char *name);
/* words: the verb and its arguments, NULL-terminated. Without words it is list. Returns the row to
 * run, or NULL, reported. */
const struct verb *verb_check(const struct options *o, char **words);
/* Reads the disks for it, and runs it. Returns its exit status. */
int verb_run(const struct verb *v, struct ctl *c, char **args);
/* Prints the help of a verb, or that of uasctl if name is NULL. Returns the exit status. */
int verbs_help(const char *name);
/* program.c: the whole uasctl, for program_run(). */
int uasctl_run(int argc, char **argv, const char *root);

typedef int verb_fn(struct ctl *c, char **args);
verb_fn verb_list, verb_status, verb_explain, verb_db, verb_switch, verb_policy, verb_trim,
        verb_eject, verb_forget, verb_monitor, verb_log, verb_metrics, verb_report, verb_inhibit,
        verb_lease, verb_wait, verb_module, verb_reset;
