/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/util.h"
#include "sys/io/clock.h"

/* A child that does one slow task, and writes its answer into a pipe. */
struct worker {
        struct manager *manager;
        worker_done_fn done; /* NULL: the answer is not needed any more */
        void *data;
        pid_t pid;
        int fd;
        char *answer;
        size_t size;
        sd_event_source *child, *output;
};

static void worker_free(struct worker *w)
{
        sd_event_source_disable_unref(w->child);
        sd_event_source_disable_unref(w->output);
        (void) close_keep_errno(w->fd);
        free(w->answer);
        free(w);
}

/* Returns true at the end of the answer. */
static bool take_output(struct worker *w)
{
        char buffer[4096];
        ssize_t n;

        while ((n = read(w->fd, buffer, sizeof(buffer))) > 0) {
                char *grown = realloc(w->answer, w->size + (size_t) n);

                if (!grown)
                        return true; /* the answer is incomplete, which its reader notices */
                memcpy(grown + w->size, buffer, (size_t) n);
                w->answer = grown;
                w->size += (size_t) n;
        }
        return n == 0;
}

static void finish(struct worker *w)
{
        if (w->done)
                w->done(w->data, w->answer, w->size);
        worker_free(w);
}

static int on_output(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        if (take_output(data))
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static int on_end(sd_event_source *s, const siginfo_t *si, void *data)
{
        (void) take_output(data);
        finish(data);
        return 0;
}

int worker_start(struct manager *m, worker_fn work, worker_done_fn done, void *data, int keep_fd, struct worker **ret)
{
        const struct roots *r = &m->roots;
        struct worker *w = calloc(1, sizeof(*w));
        int pipe_fd[2], k = 0;

        if (!w)
                return -ENOMEM;
        *w = (struct worker){.manager = m, .done = done, .data = data, .fd = -1};
        if (pipe2(pipe_fd, O_CLOEXEC) < 0) {
                k = -errno;
                worker_free(w);
                return k;
        }
        const int keep[] = {r->sys, r->proc, r->dev, r->run, r->etc, r->lib, r->var, keep_fd, pipe_fd[1]};
        w->pid = child_fork(keep, ELEMENTSOF(keep));
        if (w->pid == 0) {
                work(r, data, pipe_fd[1]);
                _exit(0);
        }
        (void) close(pipe_fd[1]);
        w->fd = pipe_fd[0];
        k = w->pid < 0 ? w->pid : fcntl(w->fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
        if (k >= 0)
                k = sd_event_add_child(m->event, &w->child, w->pid, WEXITED, on_end, w);
        if (k >= 0)
                k = sd_event_add_io(m->event, &w->output, w->fd, EPOLLIN, on_output, w);
        if (k < 0) {
                worker_free(w);
                return k;
        }
        *ret = w;
        return 0;
}

void worker_orphan(struct worker *w)
{
        if (!w)
                return;
        w->done = NULL;
        (void) kill(w->pid, SIGKILL); /* reaped later, since it may hang */
}

bool worker_wait(struct worker *w, usec_t deadline)
{
        struct pollfd p = {.fd = w->fd, .events = POLLIN};

        while (!take_output(w)) {
                usec_t now = now_monotonic();

                if (now >= deadline || poll(&p, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) < 0)
                        return false;
        }
        w->child = sd_event_source_disable_unref(w->child);
        (void) waitpid(w->pid, NULL, 0); /* it is about to exit */
        finish(w);
        return true;
}
