/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/options.h"
#include "client/client.h"
#include "client/view.h"
#include "common/exit-codes.h"

/* The context of every verb of uasctl-bench. */
struct bench_context {
        const struct bench_options *options;
        struct client client;
};

/* Verbs report errors and return an enum uasd_exit. */
int bench_measure(const struct bench_context *c, const char *what);

/* uasctl-bench for the machine in the folder root; NULL: this machine. Returns an enum uasd_exit. */
int bench_program(int argc, char **argv, const char *root);
