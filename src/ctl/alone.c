/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/alone.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/names.h"
#include "ctl/freeing.h"
#include "ctl/output.h"
#include "sys/state/attachment.h"

/* Reads its steps until it closes the pipe. */
static void alone_follow(FILE *output, const char *interface, alone_step_fn step, void *data,
                         struct outcome *o)
{
        _cleanup_free_ char *line = NULL;
        size_t room = 0;

        while (read_line(output, &line, &room) > 0) {
                line[strcspn(line, "\n")] = '\0';
                if (outcome_take_line(o, line) && startswith(line, "STEP ") && step)
                        step(interface, o->step, data);
        }
        progress_clear();
}

/* ^C ends only uasctl: it is in a process group of its own, and ends the switch or undoes it. */
static int alone_start(const struct ctl *c, const char *option, const char *target, FILE **ret)
{
        const struct facts *f = &c->v->disk.facts;
        char attachment[ATTACHMENT_ARG_MAX];
        const char *argv[7] = {path_join(c->root ?: "", PROGRAM_SWITCH), "--machine"};
        size_t n = 2;
        int ends[2], pid;

        if (option)
                argv[n++] = option;
        argv[n++] = attachment_arg(f, attachment);
        argv[n++] = f->interface;
        argv[n] = target;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = child_spawn(
                &(struct program){.argv = argv, .fds = {-1, ends[1], -1}, .new_signals = true});
        (void) close(ends[1]);
        *ret = need(fdopen(ends[0], "re"));
        return pid;
}

/* The texts are those of uasd, in parts (common/sentence.h). */
void alone_run(const struct ctl *c, const char *option, const char *target, alone_step_fn step,
               void *data, struct outcome *ret)
{
        _cleanup_fclose_ FILE *output = NULL;
        int status = 0, pid = alone_start(c, option, target, &output);

        *ret = (struct outcome){.code = -1};
        if (pid < 0) {
                ret->code = UASD_EXIT_FAILED;
                (void) snprintf(ret->text, sizeof(ret->text), "cannot start %s: %s", PROGRAM_SWITCH,
                                strerror(-pid));
                return;
        }
        alone_follow(output, c->v->disk.facts.interface, step, data, ret);
        (void) TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
        if (ret->code >= 0)
                return;
        ret->code = UASD_EXIT_FAILED;
        if (WIFEXITED(status))
                (void) snprintf(ret->text, sizeof(ret->text), "uasd-switch ended by exit status %i",
                                WEXITSTATUS(status));
        else
                (void) snprintf(ret->text, sizeof(ret->text), "uasd-switch ended by signal %i",
                                WTERMSIG(status));
}

int alone_refuse(const struct ctl *c, const struct outcome *o)
{
        const struct view *v = c->v;

        if (*o->text)
                log_error("%s: %s (step %s)", VIEW_LABEL(v), o->text, o->step);
        else
                log_error("%s: in use, and still on %s:", VIEW_LABEL(v),
                          view_driver(v) ?: _("no driver"));
        say_in_use(c, v);
        if (v->users_error < 0)
                log_info("  Cannot find its users: %s", strerror(-v->users_error));
        log_info("Only uasd waits until it is free, and uasd is not running.");
        (void) client_say_command(&c->client, REMEDY_START, NULL, _("To start it:"));
        return UASD_EXIT_REFUSED;
}
