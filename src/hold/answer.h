/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "hold/hold.h"

/*
 * udev waits for the answer, with the disk's later events: a late answer is useless. PID 1 may need
 * long to arm the timer while it boots a slow machine.
 */
#define ANSWER_SEC 10

/*
 * Gives this process so many seconds from now on. The kernel itself then kills it, even if a signal
 * has stopped it: udev would wait three minutes. A child does not inherit the timer. Returns 0 or
 * -errno.
 */
int die_in(time_t seconds);
/* The event of udev that is in the environment. */
struct block_event event_of_udev(const char *block);
/* Prints the answer as properties for udev. Returns 0 or -errno. */
int answer_print(const struct hold_answer *a);

struct hold_verb {
        const char *name;
        int argc;
        int (*run)(const struct roots *roots, char **args);
        int seconds; /* 0: no limit */
};
/* Runs the verb that the arguments name. Returns the exit status; -1: none of these. */
int hold_verb_run(const struct hold_verb *verbs, size_t n, int argc, char **argv);
