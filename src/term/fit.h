/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "term/table.h"

/* For tables that are wider than the terminal. */

/*
 * Call it when t has all of its rows; `columns` has one item for each column. Leaves out or folds columns until no line is wider
 * than the terminal, if that is possible. 0 or a negative errno. Without a terminal nothing happens.
 */
int table_fit(struct libscols_table *t, const struct table_column *columns, size_t n);
