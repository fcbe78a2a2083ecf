/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/session.h"

/* The runs of a session, and the checks of the disk meanwhile. */

/* From now on SIGINT, SIGTERM and SIGHUP end a session in an orderly way. run_signal() returns the signal, or 0. */
void run_catch_signals(void);
int run_signal(void);

/* Callback for fio and for pauses: shows the progress and checks the disk. Negative: end the run; s->stop has the reason. */
int run_tick(void *userdata);

/* These return 0; -EINTR, -EIO, -ENODEV, -EPIPE as s->stop; other -errno, reported. */
int run_read_all(struct session *s);
int run_pattern(struct session *s, const struct step *step);

/* Bytes that run_read_all() reads. */
uint64_t run_region_once(const struct session *s);

/* Reports fio's error text, a line each. log_error() escapes the ends of lines. */
void bench_log_words(const char *words);

/* The lease has ended or the disk is gone: reports which, and returns the exit status. */
int run_lost(struct session *s);
