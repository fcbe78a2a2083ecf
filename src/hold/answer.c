/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/answer.h"

#include <inttypes.h>
#include <signal.h>

#include "common/names.h"
#include "common/util.h"

int die_in(time_t seconds)
{
        static struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
        static timer_t timer;
        static bool made;

        if (!made && timer_create(CLOCK_MONOTONIC, &kill, &timer) < 0)
                return -errno;
        made = true;
        if (timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_sec = seconds}, NULL) < 0)
                return -errno;
        return 0;
}

struct block_event event_of_udev(const char *block)
{
        return (struct block_event){block, getenv("ACTION"), getenv("DEVTYPE")};
}

int answer_print(const struct hold_answer *a)
{
        if (a->hold)
                (void) puts(PROP_HOLD "=1");
        if (a->capable)
                (void) puts(PROP_CAPABLE "=1");
        if (a->verdict != VERDICT_UNKNOWN)
                (void) printf(PROP_VERDICT "=%s\n", verdict_to_string(a->verdict));
        if (a->no_auto)
                (void) puts("UDISKS_AUTO=0");
        if (a->trim.on)
                (void) puts(PROP_TRIM "=1");
        if (a->trim.set)
                (void) puts(PROP_TRIM_SET "=1");
        if (a->trim.mode)
                (void) printf(PROP_TRIM_MODE "=%s\n", a->trim.mode);
        if (a->trim.max_bytes > 0)
                (void) printf(PROP_TRIM_MAX "=%" PRIu64 "\n", a->trim.max_bytes);
        if (fflush(stdout) == EOF)
                return -errno;
        return 0;
}

static int hold_verb_start(const struct hold_verb *verb, char **args)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        int r;

        if (verb->seconds) {
                r = die_in(verb->seconds);
                if (r < 0)
                        return r;
        }
        r = roots_open(&roots, NULL);
        if (r < 0)
                return r;
        return verb->run(&roots, args);
}

int hold_verb_run(const struct hold_verb *verbs, size_t n, int argc, char **argv)
{
        for (size_t i = 0; argc >= 2 && i < n; i++)
                if (streq(argv[1], verbs[i].name) && argc == verbs[i].argc)
                        return hold_verb_start(verbs + i, argv + 2) < 0 ? EXIT_FAILURE
                                                                        : EXIT_SUCCESS;
        return -1;
}
