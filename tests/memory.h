/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * Out of memory at the n-th allocation. The linker redirects every function that the product calls
 * and that allocates (memory_wraps in tests/meson.build). Libraries have as much memory as they
 * want. The numbers are shared with the children of the process.
 */

/* From here on the nth allocation fails; lasting: and all after it. 0: none. */
void memory_begins(unsigned nth, bool lasting);
/* No other fails. Returns the number of allocations since. */
unsigned memory_ends(void);
/*
 * Returns the numbers of the allocations of a run without failures, and a 0 at the end. The first
 * `times` with the same callers stand for all of them. The caller frees the list.
 */
unsigned *memory_paths(unsigned times);
