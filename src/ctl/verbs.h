/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/*
 * A verb reports errors itself and returns an exit status: an enum uasd_exit, or with inhibit that of its command. args: the
 * words after it, NULL-terminated. Its row limits their number.
 */
struct verb {
        const char *name;
        unsigned min_args, max_args;
        unsigned takes;          /* enum option_bit */
        enum disks_source disks; /* read into c->views; with names in args, only those (ctl_choose()) */
        const char *arguments;   /* for --help */
        const char *help;
        int (*run)(struct ctl *c, char **args); /* NULL: bench, a separate program, and help */
        unsigned shows;                         /* with more arguments than this it changes what it shows; 0: no such limit */
        const char *group;                      /* the heading in front of it in --help; NULL: that of the row before */
};

#define VERB_BENCH "bench"
#define VERB_HELP "help"

extern const struct verb verbs[];
extern const size_t n_verbs;

const struct verb *verb_find(const char *name);
/* words: the verb and its arguments, NULL-terminated. Without words it is list. Returns the row to run, or NULL, reported. */
const struct verb *verb_check(const struct options *o, char **words);
/* Reads the disks for it, and runs it. Returns its exit status. */
int verb_run(const struct verb *v, struct ctl *c, char **args);
/* Prints the help of a verb; NULL: that of uasctl. */
void verbs_help(const struct verb *v);
/* The whole uasctl, for the machine below `root` (NULL: this one). Returns its exit status. */
int uasctl_run(int argc, char **argv, const char *root);

int verb_list(struct ctl *c, char **args);
int verb_status(struct ctl *c, char **args);
int verb_explain(struct ctl *c, char **args);
int verb_db(struct ctl *c, char **args);
int verb_switch(struct ctl *c, char **args);
/* Prints the users of a disk, and the commands that free it. */
void say_in_use(const struct ctl *c, const struct view *v);
int verb_policy(struct ctl *c, char **args);
int verb_trim(struct ctl *c, char **args);
int verb_release(struct ctl *c, char **args);
int verb_cancel(struct ctl *c, char **args);
int verb_eject(struct ctl *c, char **args);
int verb_forget(struct ctl *c, char **args);
int verb_monitor(struct ctl *c, char **args);
int verb_log(struct ctl *c, char **args);
int verb_metrics(struct ctl *c, char **args);
int verb_report(struct ctl *c, char **args);
int verb_inhibit(struct ctl *c, char **args);
int verb_wait(struct ctl *c, char **args);
