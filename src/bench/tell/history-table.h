/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Results that are kept, one a row: what fits beside each other depends on all of them. */

enum history_column {
        HISTORY_ID,
        HISTORY_DATE,
        HISTORY_TIME, /* with the date in one column */
        HISTORY_DISK,
        HISTORY_PROFILE,
        HISTORY_LINK,
        HISTORY_ROUNDS,
        HISTORY_RESULT,
        _HISTORY_MAX,
};

struct history_row {
        char *cells[_HISTORY_MAX]; /* harmless */
};

struct history_table {
        struct history_row *rows;
        size_t n;
};

/* Copies them. 0 or -ENOMEM. */
int history_table_add(struct history_table *t, const char *const cells[static _HISTORY_MAX]);
int history_table_print(const struct history_table *t, bool legend);
void history_table_done(struct history_table *t);
