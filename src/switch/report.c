/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "common/log.h"
#include "common/names.h"
#include "switch/report.h"
#include "switch/transaction.h"
#include "sys/io/clock.h"

void report_step(const struct transaction *t)
{
        if (t->request.machine) {
                (void) printf("STEP %s %llu\n", t->result.step,
                              (unsigned long long) now_boottime());
                (void) fflush(stdout);
        } else
                log_debug("step %s", t->result.step);
}

void report_user(const struct transaction *t, const struct user *u)
{
        char where[PATH_MAX], command[64];

        if (t->request.machine) { /* without --machine: uasd searches itself */
                if (u->kind == USER_CLAIM)
                        (void) printf("CLAIMED %s\n", u->device);
                else if (u->kind == USER_OPEN && u->pid == 0)
                        (void) printf("OPENED %s\n", u->device);
                return;
        }
        (void) fprintf(stderr, "%s %s", user_kind_to_string(u->kind), u->device);
        if (u->where)
                (void) fprintf(stderr, " at %s", make_harmless(u->where, where, sizeof(where)));
        if (u->command)
                (void) fprintf(stderr, " by %s",
                               make_harmless(u->command, command, sizeof(command)));
        if (u->pid)
                (void) fprintf(stderr, " (pid %i)", (int) u->pid);
        (void) fputc('\n', stderr);
}

void report_claim(const struct transaction *t)
{
        (void) printf("%s\n", t->request.machine ? SWITCH_KEPT
                                                 : "It is claimed, until the standard input ends.");
        (void) fflush(stdout);
}

/*
 * A process that keeps a disk busy chooses its own name and its mount point. So both are made
 * harmless, and the line is never longer than uasd's buffer.
 */
void end_line(const struct transaction *t, char ret[static END_LINE_MAX])
{
        char text[sizeof(t->result.text)];

        (void) snprintf(ret, END_LINE_MAX, "END %i %s %s\n", t->result.code, t->result.step,
                        make_harmless(t->result.text, text, sizeof(text)));
}

void report_end(const struct transaction *t)
{
        char line[END_LINE_MAX];

        end_line(t, line);
        if (t->request.machine && fputs(line, stdout) >= 0 && fflush(stdout) == 0)
                return;
        if (t->result.code == UASD_EXIT_OK)
                log_info("%s: %s", t->interface, t->result.text);
        else
                log_error("%s: step %s: %s", t->interface, t->result.step, t->result.text);
}
