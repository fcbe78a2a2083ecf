/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include "common/util.h"

static int two_pipes(bool in, int ret_in[2], int ret_out[2])
{
        if (pipe2(ret_out, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        if (!in || pipe2(ret_in, O_CLOEXEC) >= 0)
                return 0;
        (void) close_keep_errno(ret_out[0]);
        (void) close_keep_errno(ret_out[1]);
        return -errno;
}

int spawn_switch(char *const argv[], int *ret_in, int *ret_out, pid_t *ret_pid)
{
        sigset_t none, defaults;
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        int in[2] = {-1, -1}, out[2] = {-1, -1}, r = two_pipes(ret_in, in, out);

        if (r < 0)
                return r;
        (void) sigemptyset(&none);
        (void) sigfillset(&defaults);
        (void) posix_spawn_file_actions_init(&files);
        (void) posix_spawnattr_init(&attr);
        (void) posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        (void) posix_spawnattr_setsigmask(&attr, &none);
        (void) posix_spawnattr_setsigdefault(&attr, &defaults);
        r = posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        if (r == 0 && ret_in)
                r = posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        if (r == 0)
                r = posix_spawn(ret_pid, argv[0], &files, &attr, argv, environ);
        (void) posix_spawn_file_actions_destroy(&files);
        (void) posix_spawnattr_destroy(&attr);
        (void) close_keep_errno(out[1]);
        (void) close_keep_errno(in[0]);
        if (r != 0) {
                (void) close_keep_errno(out[0]);
                (void) close_keep_errno(in[1]);
                return -r;
        }
        *ret_out = out[0];
        if (ret_in)
                *ret_in = in[1];
        return 0;
}

/* Only the first END counts: later text may be the name of a process that keeps the disk busy. */
static void take_line(struct switch_output *o, void (*take)(const char *line, void *data), void *data)
{
        int end = 0;

        if (o->outcome.code >= 0)
                return;
        if (sscanf(o->line, "END %i %23s %n", &o->outcome.code, o->outcome.step, &end) == 2 && end > 0)
                (void) copy_string(o->outcome.text, sizeof(o->outcome.text), o->line + end);
        else if (take)
                take(o->line, data);
}

void switch_output_read(struct switch_output *o, void (*take)(const char *line, void *data), void *data)
{
        ssize_t n;

        while ((n = read(o->fd, o->line + o->used, sizeof(o->line) - 1 - o->used)) > 0) {
                char *newline;

                o->used += (size_t) n;
                o->line[o->used] = '\0';
                while ((newline = strchr(o->line, '\n'))) {
                        *newline = '\0';
                        take_line(o, take, data);
                        o->used -= (size_t) (newline + 1 - o->line);
                        memmove(o->line, newline + 1, o->used + 1);
                }
                if (o->used == sizeof(o->line) - 1) /* longer than any line of uasd-switch */
                        o->used = 0;
        }
}
