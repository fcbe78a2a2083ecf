/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A program with its arguments, for the machine whose trees are below `root`; NULL: this one. Returns an enum uasd_exit. */
typedef int (*program_fn)(int argc, char **argv, const char *root);

/* Runs it from the locale to the last byte of the standard output. Returns its exit status; UASD_EXIT_FAILED if output was lost.
 */
int program_run(program_fn run, int argc, char **argv, const char *root);

/* Reports that memory is exhausted, and ends the program with UASD_EXIT_FAILED. A partial answer is useless. */
__attribute__((noreturn)) void no_memory(void);
/* Returns p. Ends the program with no_memory() if it is NULL. */
__attribute__((returns_nonnull)) void *need(void *p);
