/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * From here on what is printed goes through a pager, if `wanted` and the standard output is a terminal that can do that:
 * $SYSTEMD_PAGER, or $PAGER, or the first there is of pager, less, more. An empty one or "cat" is none. Talk is over by then.
 * Where there is no pager all is printed as ever.
 */
void pager_open(bool wanted);
/* All has been printed: waits for the pager to end. True if there was one. */
bool pager_close(void);
