/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "term/table.h"

/* What becomes of a table that is wider than the terminal. */

/*
 * Of a table with all of its rows, one for each column. What there is no room for is left out or folded, so that no line is wider
 * than the terminal, unless nothing is left to be done. 0 or a negative errno. With no terminal, nothing happens.
 */
int table_fit(struct libscols_table *t, const struct table_column *columns, size_t n);
