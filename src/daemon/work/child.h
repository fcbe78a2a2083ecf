/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/history.h"
#include "daemon/manager.h"
#include "sys/state/settings.h"
#include "sys/state/store.h"
#include <sys/types.h>

/* A child of uasd. The event loop reads its output and reaps it. It frees itself after `ended`. */
struct child;
struct child_end {
        const void *answer; /* the whole output of a task */
        size_t size;
        const struct outcome *outcome; /* of uasd-switch; code -1: it reported no end */
        bool exited;                   /* false: a signal ended it */
        int status;                    /* exit status or signal */
};
typedef void (*child_end_fn)(void *data, const struct child_end *end);

/* A fork that does one task, and writes its answer into `out`. keep_fd: another descriptor that it
 * needs, or -1. */
typedef void (*child_task_fn)(const struct roots *roots, void *data, int out);
int child_run(struct manager *m, child_task_fn task, child_end_fn ended, void *data, int keep_fd,
              struct child **ret);

/*
 * uasd-switch --machine with these arguments. It writes its steps to stdout, and at the end "END
 * code step text". line: gets each line before the end, with the outcome as known so far. NULL:
 * only the end matters.
 */
typedef void (*child_line_fn)(void *data, const char *line, const struct outcome *so_far);
int child_switch(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                 void *data);
/* The same for one that keeps a claim. It has a stdin, which child_stop() closes, as does the end
 * of this process. */
int child_claim(struct manager *m, const char *const *args, child_line_fn line, child_end_fn ended,
                void *data, struct child **ret);

/* Returns its process; 0 for NULL. */
pid_t child_pid(const struct child *c);
/* Kills it. It may hang in the kernel, and is reaped later. */
void child_stop(struct child *c);
/* The same, and no function is called any more. Accepts NULL. */
void child_orphan(struct child *c);
/* Waits for a task without the event loop. Returns false if it has not ended at the deadline
 * (CLOCK_MONOTONIC). */
bool child_wait(struct child *c, usec_t deadline);
