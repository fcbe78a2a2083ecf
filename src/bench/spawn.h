/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/resource.h>

/* Called about five times a second while a program runs. A negative result ends the program. */
typedef int (*spawn_tick_t)(void *userdata);

struct spawn {
        const char *program;      /* without a slash it is searched in $PATH */
        char *const *arguments;   /* with its name, and NULL at the end */
        char *const *environment; /* NULL: ours */
        const int *fds; /* the first three become its standard input, output and errors; it gets the others as they are */
        size_t n_fds;
        spawn_tick_t tick; /* NULL: none */
        void *userdata;
};

/*
 * Runs a program without a shell, and waits until its last thread has ended. Signals of the terminal do not reach it, and it dies
 * with us. If tick() returns an error it gets SIGINT, and after three seconds SIGKILL; tick() is called until it has ended.
 * ret_usage may be NULL. Returns its status as from waitpid(), or the error of tick(), -ENOENT (no such program), or another
 * -errno.
 */
int spawn(const struct spawn *s, struct rusage *ret_usage);
/* Runs one with these standard streams, without a callback. Returns 0, -EPROTO: it failed, or as spawn(). */
int spawn_simple(char *const *arguments, int in, int out, int errors);
