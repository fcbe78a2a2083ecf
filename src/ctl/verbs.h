/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/exit-codes.h"
#include "ctl/context.h"

/*
 * A verb tells what goes wrong itself and returns an enum uasd_exit. args: what follows it, NULL-terminated,
 * as many as its row allows.
 */
struct verb {
        const char *name;
        unsigned min_args, max_args;
        unsigned takes;        /* enum option_bit */
        const char *arguments; /* for --help */
        const char *help;
        int (*run)(const struct ctl *c, char **args); /* NULL: a program of its own */
        unsigned shows; /* with more arguments it changes what it shows with these; 0: it does one thing alone */
};

extern const struct verb verbs[];
extern const size_t n_verbs;

const struct verb *verb_find(const char *name);
/* words: the verb and its arguments, NULL-terminated; none: list. The row to run, or NULL, told. */
const struct verb *verb_check(const struct options *o, char **words);
void verbs_help(void);

int verb_list(const struct ctl *c, char **args);
int verb_status(const struct ctl *c, char **args);
int verb_explain(const struct ctl *c, char **args);
int verb_db(const struct ctl *c, char **args);
int verb_switch(const struct ctl *c, char **args);
int verb_policy(const struct ctl *c, char **args);
int verb_trim(const struct ctl *c, char **args);
int verb_release(const struct ctl *c, char **args);
int verb_cancel(const struct ctl *c, char **args);
int verb_forget(const struct ctl *c, char **args);
int verb_monitor(const struct ctl *c, char **args);
int verb_log(const struct ctl *c, char **args);
int verb_metrics(const struct ctl *c, char **args);
int verb_report(const struct ctl *c, char **args);
int verb_inhibit(const struct ctl *c, char **args);
int verb_wait(const struct ctl *c, char **args);
