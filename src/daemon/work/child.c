/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "sys/io/clock.h"

#define LINE_MOST 512 /* longer than any line of uasd-switch */
#define ARGS_MOST 6   /* of uasd-switch, without --machine */

/* The arguments of uasd-switch, with a NUL after each. */
struct job_text {
        char text[SWITCH_JOB_MAX];
        size_t size;
};

struct child {
        child_end_fn ended; /* NULL: its end does not matter any more */
        child_line_fn line;
        void *data;
        pid_t pid;
        int in, out;
        bool is_switch;
        struct outcome outcome;
        struct job_text
                *job; /* of one that was on standby, until it has said something; else NULL */
        char *text;   /* output: all of a task, or the beginning of the next line of uasd-switch */
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
        free(c->job);
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

/* Only the first END counts: later text may be the name of a process that keeps the disk busy. */
static void child_take_line(struct child *c, const char *line)
{
        struct outcome *o = &c->outcome;
        int end = 0;

        if (o->code >= 0)
                return;
        if (sscanf(line, "END %i %23s %n", &o->code, o->step, &end) == 2 && end > 0) {
                (void) copy_string(o->text, sizeof(o->text), line + end);
                return;
        }
        if (sscanf(line, "STEP %23s", o->step) != 1 &&
            sscanf(line, "CLAIMED %31s", o->claimed) != 1)
                (void) sscanf(line, "OPENED %31s", o->opened);
        if (c->line)
                c->line(c->data, line, o);
}

/* Returns true at the end of the output. */
static bool child_take_output(struct child *c)
{
        char buffer[4096], *newline;
        ssize_t n;

        while ((n = read(c->out, buffer, sizeof(buffer))) > 0) {
                char *grown = realloc(c->text, c->size + (size_t) n);

                free(TAKE_PTR(c->job)); /* it has begun */
                if (!grown)
                        return true; /* the answer is incomplete, which its reader notices */
                memcpy(grown + c->size, buffer, (size_t) n);
                c->text = grown;
                c->size += (size_t) n;
                while (c->is_switch && (newline = memchr(c->text, '\n', c->size))) {
                        *newline = '\0';
                        child_take_line(c, c->text);
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

static void child_finish(struct child *c, bool exited, int status)
{
        if (c->ended)
                c->ended(c->data,
                         &(struct child_end){c->text, c->size, &c->outcome, exited, status});
        child_freep(&c);
}

static bool child_start_again(struct child *c, sd_event *event);

static int child_on_end(sd_event_source *s, const siginfo_t *si, void *data)
{
        (void) child_take_output(data);
        /* It was killed, or knows the arguments of another version. */
        if ((si->si_code != CLD_EXITED || si->si_status == UASD_EXIT_USAGE) &&
            child_start_again(data, sd_event_source_get_event(s)))
                return 0;
        child_finish(data, si->si_code == CLD_EXITED, si->si_status);
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
static int child_attach(struct child *c, sd_event *event)
{
        int r = child_listen(c, event);

        if (r < 0) {
                (void) kill(c->pid, SIGKILL);
                (void) waitpid(c->pid, NULL, 0);
        }
        return r;
}

int child_run(struct manager *m, child_task_fn task, child_end_fn ended, void *data, int keep_fd,
              struct child **ret)
{
        _cleanup_(child_freep) struct child *c = child_new(ended, data);
        const struct roots *roots = &m->roots;
        _cleanup_close_ int its_out = -1;
        int fds[2], r;

        if (!c)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        c->out = fds[0];
        its_out = fds[1];
        if (fcntl(c->out, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        const int keep[] = {roots->sys, roots->proc, roots->dev, roots->run, roots->etc,
                            roots->lib, roots->var,  keep_fd,    its_out};
        c->pid = child_fork(keep, ELEMENTSOF(keep));
        if (c->pid == 0) {
                task(roots, data, its_out);
                _exit(0);
        }
        if (c->pid < 0)
                return c->pid;
        r = child_attach(c, m->event);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

/* Starts uasd-switch. with_stdin: it has a stdin, and `in` is the other end. like: has the
 * functions that it calls. */
static int switch_new(sd_event *event, const char *const *argv, bool with_stdin,
                      const struct child *like, struct child **ret)
{
        _cleanup_(child_freep) struct child *c = child_new(like->ended, like->data);
        _cleanup_close_ int its_in = -1, its_out = -1;
        int fds[2], r;

        if (!c)
                return -ENOMEM;
        c->line = like->line;
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
        r = child_spawn(argv, its_in, its_out, true, &c->pid);
        if (r < 0)
                return r;
        r = child_attach(c, event);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

/* ---- its arguments, and a switch by the uasd-switch on standby if it can ---- */

static int job_text_new(const char *const *args, struct job_text *ret)
{
        struct job_text job = {.size = 0};

        for (const char *arg = "--machine"; arg; arg = *args++) {
                size_t n = strlen(arg) + 1;

                if (n > sizeof(job.text) - job.size)
                        return -E2BIG;
                memcpy(job.text + job.size, arg, n);
                job.size += n;
        }
        *ret = job;
        return 0;
}

static int job_text_start(sd_event *event, const struct job_text *job, bool with_stdin,
                          const struct child *like, struct child **ret)
{
        const char *argv[ARGS_MOST + 3] = {PROGRAM_SWITCH};
        size_t n = 1;

        for (size_t at = 0; at < job->size && n < ELEMENTSOF(argv) - 1;
             at += strlen(job->text + at) + 1)
                argv[n++] = job->text + at;
        return switch_new(event, argv, with_stdin, like, ret);
}

int child_claim(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                void *data, struct child **ret)
{
        struct job_text job;
        int r = job_text_new(args, &job);

        if (r < 0)
                return r;
        return job_text_start(m->event, &job, true,
                              &(struct child){.line = line, .ended = ended, .data = data}, ret);
}

/* Returns false if there is no standby that takes the job. From then on its stdin is at its end. */
static bool standby_take(struct manager *m, const struct job_text *job, const struct child *like)
{
        struct child *c = TAKE_PTR(m->standby);

        m->standby_wanted = false; /* the next one is started when it is wanted after this */
        if (!c)
                return false;
        c->job = malloc(sizeof(*job));
        /* A pipe takes this whole or not at all. EPIPE: the standby has died. */
        if (!c->job || write(c->in, job->text, job->size) != (ssize_t) job->size) {
                child_orphan(c);
                return false;
        }
        *c->job = *job;
        c->in = close_keep_errno(c->in);
        c->line = like->line;
        c->ended = like->ended;
        c->data = like->data;
        return true;
}

int child_switch(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                 void *data)
{
        const struct child like = {.line = line, .ended = ended, .data = data};
        struct job_text job;
        struct child *c;
        int r = job_text_new(args, &job);

        if (r < 0)
                return r;
        if (standby_take(m, &job, &like))
                return 0;
        return job_text_start(m->event, &job, false, &like, &c);
}

/*
 * A standby may end at the moment at which it gets its job. Then it has not begun, and another
 * uasd-switch gets the job. The switch counts as running all the time: a sleep waits for it, no
 * inhibitor ends it, and its arguments name the device.
 */
static bool child_start_again(struct child *c, sd_event *event)
{
        struct child *other;

        if (!c->job || !c->ended || job_text_start(event, c->job, false, c, &other) < 0)
                return false;
        child_freep(&c);
        return true;
}

static void on_standby_end(void *data, const struct child_end *end)
{
        struct manager *m = data;

        m->standby = NULL;
        log_debug("the uasd-switch on standby has ended");
}

void child_standby(struct manager *m, bool wanted)
{
        static const char *const argv[] = {PROGRAM_SWITCH, "--standby", NULL};

        if (m->standby_wanted == wanted)
                return;
        m->standby_wanted = wanted;
        child_orphan(TAKE_PTR(m->standby));
        if (wanted)
                (void) switch_new(m->event, argv, true,
                                  &(struct child){.ended = on_standby_end, .data = m}, &m->standby);
}

void child_standby_end(struct manager *m)
{
        struct child *c = TAKE_PTR(m->standby);

        m->standby_wanted = false;
        child_orphan(c);
        if (c)
                (void) child_wait(c, now_monotonic() + USEC_PER_SEC);
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

        while (!child_take_output(c)) {
                usec_t now = now_monotonic();

                if (now >= deadline ||
                    poll(&p, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) < 0)
                        return false;
        }
        c->end = sd_event_source_disable_unref(c->end);
        (void) waitpid(c->pid, NULL, 0); /* it is about to exit */
        child_finish(c, true, 0);
        return true;
}
