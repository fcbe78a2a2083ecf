/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"
#include "sys/io/roots.h"

/*
 * uasd-hold and uasd-generator for the machine in the folder $TREE: the programs that they start
 * and /dev/kmsg are in it, and its "journal" gets what they report. They have a fourth of the time
 * for an answer, PID 1 a tenth; "limits", if it exists, gets the whole. No timer can be set if
 * "no-timer" exists. Linked with
 * --wrap=execv,open64,pid1_state,child_spawn,roots_open,journal_send,timer_settime.
 */

static const char *in_tree(const char *path)
{
        static char ret[PATH_MAX];

        (void) snprintf(ret, sizeof(ret), "%s%s", getenv("TREE"), path);
        return ret;
}

int __real_roots_open(struct roots *ret, const char *prefix);
int __wrap_roots_open(struct roots *ret, const char *prefix);
int __wrap_roots_open(struct roots *ret, const char *prefix)
{
        return __real_roots_open(ret, getenv("TREE"));
}

int __real_execv(const char *path, char *const argv[]);
int __wrap_execv(const char *path, char *const argv[]);
int __wrap_execv(const char *path, char *const argv[])
{
        return __real_execv(in_tree(path), argv);
}

pid_t __real_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p);
pid_t __wrap_child_spawn(const struct program *p)
{
        const char *argv[20] = {in_tree(p->argv[0])};
        struct program other = *p;

        for (size_t i = 1; p->argv[i - 1] && i < sizeof(argv) / sizeof(*argv); i++)
                argv[i] = p->argv[i];
        other.argv = argv;
        return __real_child_spawn(&other);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
        mode_t mode = 0;
        va_list ap;

        if (flags & O_CREAT) {
                va_start(ap, flags);
                mode = va_arg(ap, mode_t);
                va_end(ap);
        }
        if (strcmp(path, "/dev/kmsg") == 0)
                return __real_open64(in_tree(path), flags | O_APPEND, mode);
        return __real_open64(path, flags, mode);
}

static void note(const char *what, usec_t usec)
{
        FILE *f = access(in_tree("/limits"), F_OK) == 0 ? fopen(in_tree("/limits"), "ae") : NULL;

        if (!f)
                return;
        (void) fprintf(f, "%s %llu\n", what,
                       (unsigned long long) ((usec + USEC_PER_SEC / 2) / USEC_PER_SEC));
        (void) fclose(f);
}

int __real_timer_settime(timer_t timer, int flags, const struct itimerspec *new,
                         struct itimerspec *old);
int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *new,
                         struct itimerspec *old);
int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *new,
                         struct itimerspec *old)
{
        static timer_t only;
        static bool set;
        time_t seconds = new->it_value.tv_sec;

        /* A new limit replaces the former one: a second timer would leave that in force. */
        note(set && timer != only ? "second timer" : "answer", (usec_t) seconds * USEC_PER_SEC);
        only = timer;
        set = true;
        if (access(in_tree("/no-timer"), F_OK) == 0) {
                errno = EINVAL;
                return -1;
        }
        return __real_timer_settime(
                timer, flags,
                &(struct itimerspec){.it_value = {seconds / 4, seconds % 4 * 250000000}}, old);
}

/* weak: uasd-hold itself must not get libsystemd by this */
__attribute__((weak)) int __real_pid1_state(sd_bus *pid1, struct awake deadline,
                                            enum pid1_state *ret);
int __wrap_pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret);
int __wrap_pid1_state(sd_bus *pid1, struct awake deadline, enum pid1_state *ret)
{
        note("pid1", awake_left(deadline));
        return __real_pid1_state(pid1, awake_in(awake_left(deadline) / 10), ret);
}

int __wrap_journal_send(const char *text, size_t size);
int __wrap_journal_send(const char *text, size_t size)
{
        FILE *f = fopen(in_tree("/journal"), "ae");

        if (!f)
                return -errno;
        (void) fwrite(text, 1, size, f);
        (void) fclose(f);
        return 0;
}
