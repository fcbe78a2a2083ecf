/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "daemon/manager.h"

/* A child that does one task, and answers. */
typedef void (*worker_fn)(const struct roots *r, void *data, int out);       /* in the child */
typedef void (*worker_done_fn)(void *data, const void *answer, size_t size); /* the whole answer; the worker is freed after it */
/* keep_fd: another descriptor that the child needs, or -1. */
int worker_start(struct manager *m, worker_fn work, worker_done_fn done, void *data, int keep_fd, struct worker **ret);
/* Kills it; done is not called any more. */
void worker_orphan(struct worker *w);
/* Waits without the event loop. Returns false if the answer is not complete at the deadline (CLOCK_MONOTONIC). */
bool worker_wait(struct worker *w, usec_t deadline);
