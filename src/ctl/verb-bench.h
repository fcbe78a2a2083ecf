/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define VERB_BENCH "bench"

/*
 * Becomes uasctl-bench, with all words but the verb, which is argv[verb]. root: the folder in which it is; NULL: the machine
 * itself. Returns only if that fails: an enum uasd_exit, reported.
 */
int bench_exec(const char *root, char **argv, int verb);
