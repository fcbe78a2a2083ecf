/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * From here on the output goes through a pager, if `wanted` and if the standard output is a terminal that supports it. The pager
 * is $SYSTEMD_PAGER, or $PAGER, or the first one that exists of pager, less, more. An empty value or "cat" means none. All
 * messages must have been printed before. Without a pager the output is printed directly.
 */
void pager_open(bool wanted);
/* After the last output: waits for the end of the pager. Returns true if there was one. */
bool pager_close(void);
