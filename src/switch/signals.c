/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "switch/report.h"
#include "switch/signals.h"
#include "switch/transaction.h"
#include "sys/state/switch-record.h"

/*
 * A disk must not be left without a driver because of Ctrl-C, or because the machine goes down.
 * Before the disk is touched a signal ends uasd-switch at once. From the trial on the signals are
 * blocked: if one waits, uasd-switch finishes or undoes the switch in seconds. The children that
 * open the disk block the signals as well; they die with uasd-switch (PR_SET_PDEATHSIG).
 */
static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};

/* Prepared for the handler, which may call only async-signal-safe functions. */
static struct {
        sigset_t set; /* empty: signals_begin() was not called */
        int run;      /* directory of `record` */
        char record[PATH_MAX];
        bool recorded;
        int out;
        char line[END_LINE_MAX];
        size_t length;
} at_once;

static void end_at_once(int number)
{
        if (at_once.recorded)
                (void) unlinkat(at_once.run, at_once.record, 0);
        (void) !write(at_once.out, at_once.line, at_once.length);
        _exit(UASD_EXIT_DEFERRED);
}

void signals_begin(const struct transaction *t)
{
        const struct sigaction act = {.sa_handler = end_at_once};

        at_once.run = t->roots.run;
        at_once.out = t->request.machine ? STDOUT_FILENO : STDERR_FILENO;
        (void) copy_string(at_once.record, sizeof(at_once.record),
                           SWITCH_RECORD_PATH(t->interface));
        (void) sigemptyset(&at_once.set);
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                struct sigaction before;

                /* ignored under nohup(1), and in shells without job control */
                if (sigaction(numbers[i], NULL, &before) < 0 || before.sa_handler == SIG_IGN)
                        continue;
                (void) sigaddset(&at_once.set, numbers[i]);
                (void) sigaction(numbers[i], &act, NULL);
        }
        signals_block();
}

void signals_block(void)
{
        (void) sigprocmask(SIG_BLOCK, &at_once.set, NULL);
}

void signals_allow(const struct transaction *t)
{
        struct transaction ended = {.result.code = UASD_EXIT_DEFERRED};

        (void) copy_string(ended.result.step, sizeof(ended.result.step), t->result.step);
        (void) copy_string(ended.result.text, sizeof(ended.result.text), ENDED_BY_SIGNAL);
        if (at_once.out == STDOUT_FILENO)
                end_line(&ended, at_once.line);
        else
                (void) snprintf(at_once.line, sizeof(at_once.line), "%s: step %s: %s\n",
                                t->interface, t->result.step, ENDED_BY_SIGNAL);
        at_once.length = strlen(at_once.line);
        at_once.recorded = t->lock >= 0;
        (void) sigprocmask(SIG_UNBLOCK, &at_once.set, NULL);
}

bool signal_waits(void)
{
        sigset_t waiting;

        if (sigpending(&waiting) < 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                if (sigismember(&waiting, numbers[i]) == 1 &&
                    sigismember(&at_once.set, numbers[i]) == 1)
                        return true;
        return false;
}
