/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/session.h"

/* What a session runs, while it looks after the disk. */

/* From now on SIGINT, SIGTERM and SIGHUP end a session in good order. 0, or the one that came. */
void run_catch_signals(void);
int run_signal(void);

/* For fio, and for pauses: shows how far it is, and looks after the disk. Less than 0: it is to end, s->stop
 * says why. */
int run_tick(void *userdata);

/* These return 0; -EINTR, -EIO, -ENODEV, -EPIPE as s->stop; other -errno, told. */
int run_read_all(struct session *s);
int run_pattern(struct session *s, const struct step *step);

/* How much run_read_all() reads. */
uint64_t run_region_once(const struct session *s);

/* Reports fio's words, a line each: log_error() makes the ends of lines harmless. */
void bench_log_words(const char *words);

/* The lease is over, or the disk: tells which, and returns the exit status. */
int run_lost(struct session *s);
