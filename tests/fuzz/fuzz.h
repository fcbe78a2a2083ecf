/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/util.h"
#include "sys/io/roots.h"

/* libFuzzer, or replay.c in its place, calls it for every input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that holds for every input. */
#define CHECK(condition)                                                                           \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        (void) fprintf(stderr, "%s:%i: not so: %s\n", __FILE__, __LINE__,          \
                                       #condition);                                                \
                        abort();                                                                   \
                }                                                                                  \
        } while (0)

/* A copy of the exact size plus a NUL, so that ASan detects a read past the end. */
char *fuzz_text(const uint8_t *data, size_t size);
/* The text up to the next such character, which is removed. *rest is set to the text after it.
 * NULL: the end. */
char *fuzz_field(char **rest, char end);

/* The trees of a machine in a temporary folder, empty at first; the same ones at every call. */
struct roots *fuzz_roots(void);
/* Makes or replaces a file in one of them, and the folders above it. */
void fuzz_file(int dirfd, const char *path, const void *data, size_t size);
