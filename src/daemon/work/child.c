/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/log.h"
#include "common/names.h"
#include "sys/io/clock.h"

#define LINE_MOST 1024 /* longer than any line of uasd-switch */
#define ARGS_MOST 6    /* of uasd-switch, without --machine */

struct child {
        child_end_fn ended; /* NULL: its end does not matter any more */
        child_line_fn line;
        void *data;
        pid_t pid;
        int in, out;
        bool is_switch;
        struct outcome outcome;
        char *text; /* output: all of a task, or the beginning of the next line of uasd-switch */
        size_t size;
        sd_event_source *end, *output;
};

static void child_freep(struct child **at)
{
        struct child *c = *at;

        if (!c)
                return;
        sd_event_source_disable_unref(c->end);
        sd_event_source_disable_unref(c->output);
        (void) close_keep_errno(c->in);
        (void) close_keep_errno(c->out);
        free(c->text);
        free(c);
}

static struct child *child_new(child_end_fn ended, void *data)
{
        struct child *c = calloc(1, sizeof(*c));

        if (c)
                *c = (struct child){
                        .ended = ended, .data = data, .in = -1, .out = -1, .outcome.code = -1};
        return c;
}

/* ---- its output ---- */

/* Returns true at the end of the output. */
static bool child_take_output(struct child *c)
{
        char buffer[4096], *newline;
        ssize_t n;

        while ((n = read(c->out, buffer, sizeof(buffer))) > 0) {
                char *grown = realloc(c->text, c->size + (size_t) n);

                if (!grown)
                        return true; /* the answer is incomplete, which its reader notices */
                memcpy(grown + c->size, buffer, (size_t) n);
                c->text = grown;
                c->size += (size_t) n;
                while (c->is_switch && (newline = memchr(c->text, '\n', c->size))) {
                        *newline = '\0';
                        if (outcome_take_line(&c->outcome, c->text) && c->line)
                                c->line(c->data, c->text, &c->outcome);
                        c->size -= (size_t) (newline + 1 - c->text);
                        memmove(c->text, newline + 1, c->size);
                }
                if (c->is_switch && c->size >= LINE_MOST)
                        c->size = 0;
        }
        return n == 0;
}

static int child_on_output(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        if (child_take_output(data))
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static void child_finish(struct child *c, const siginfo_t *si)
{
        if (c->ended)
                c->ended(c->data, &(struct child_end){c->text, c->size, &c->outcome,
                                                      si->si_code == CLD_EXITED, si->si_status});
        child_freep(&c);
}

static int child_on_end(sd_event_source *s, const siginfo_t *si, void *data)
{
        (void) child_take_output(data);
        child_finish(data, si);
        return 0;
}

/* ---- its life ---- */

static int child_listen(struct child *c, sd_event *event)
{
        int r = sd_event_add_child(event, &c->end, c->pid, WEXITED, child_on_end, c);

        if (r < 0)
                return r;
        return sd_event_add_io(event, &c->output, c->out, EPOLLIN, child_on_output, c);
}

/* If no event can report its end, it has no caller, and must not go on. It has not begun yet. */
static int child_attach(struct child **at, sd_event *event, struct child **ret)
{
        struct child *c = *at;
        int r = child_listen(c, event);

        if (r >= 0) {
                *ret = TAKE_PTR(*at);
                return 0;
        }
        (void) kill(c->pid, SIGKILL);
        (void) waitpid(c->pid, NULL, 0);
        return r;
}

int child_run(struct manager *m, child_task_fn task, child_end_fn ended, void *data, int keep_fd,
              struct child **ret)
{
        _cleanup_(child_freep) struct child *c = child_new(ended, data);
        const int keep[] = {ROOTS_FDS(&m->roots), keep_fd};

        if (!c)
                return -ENOMEM;
        c->pid = child_fork(keep, ELEMENTSOF(keep), &c->out);
        if (c->pid == 0) {
                task(&m->roots, data, c->out);
                _exit(0);
        }
        if (c->pid < 0)
                return c->pid;
        (void) fcntl(c->out, F_SETFL, O_NONBLOCK);
        return child_attach(&c, m->event, ret);
}

/* Starts uasd-switch. with_stdin: it has a stdin, and `in` is the other end. */
static int switch_new(sd_event *event, const char *const *args, bool with_stdin, child_line_fn line,
                      child_end_fn ended, void *data, struct child **ret)
{
        const char *argv[ARGS_MOST + 3] = {PROGRAM_SWITCH, "--machine"};
        _cleanup_(child_freep) struct child *c = child_new(ended, data);
        _cleanup_close_ int its_in = -1, its_out = -1;
        int fds[2];

        if (!c)
                return -ENOMEM;
        for (size_t i = 0; args[i]; i++) {
                if (i == ARGS_MOST)
                        return -E2BIG;
                argv[i + 2] = args[i];
        }
        c->line = line;
        c->is_switch = true;
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        c->out = fds[0];
        its_out = fds[1];
        if (with_stdin) {
                if (pipe2(fds, O_CLOEXEC) < 0)
                        return -errno;
                its_in = fds[0];
                c->in = fds[1];
        }
        c->pid = child_spawn(
                &(struct program){.argv = argv, .fds = {its_in, its_out, -1}, .new_signals = true});
        if (c->pid < 0)
                return c->pid;
        return child_attach(&c, event, ret);
}

int child_switch(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                 void *data)
{
        struct child *c;

        return switch_new(m->event, args, false, line, ended, data, &c);
}

int child_claim(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                void *data, struct child **ret)
{
        return switch_new(m->event, args, true, line, ended, data, ret);
}

pid_t child_pid(const struct child *c)
{
        if (!c)
                return 0;
        return c->pid;
}

void child_stop(struct child *c)
{
        (void) kill(c->pid, SIGKILL);
        c->in = close_keep_errno(c->in);
}

void child_orphan(struct child *c)
{
        if (!c)
                return;
        c->ended = NULL;
        c->line = NULL;
        child_stop(c);
}

bool child_wait(struct child *c, usec_t deadline)
{
        struct pollfd p = {.fd = c->out, .events = POLLIN};
        siginfo_t si = {};

        while (!child_take_output(c)) {
                usec_t now = now_monotonic();

                if (now >= deadline ||
                    poll(&p, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) < 0)
                        return false;
        }
        c->end = sd_event_source_disable_unref(c->end);
        (void) waitid(P_PID, (id_t) c->pid, &si, WEXITED); /* it is about to exit */
        child_finish(c, &si);
        return true;
}
