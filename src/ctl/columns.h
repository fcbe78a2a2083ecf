/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"

/* The columns of `uasctl list`. They have the names of the members of JSON, if there is one. */
enum column {
        COLUMN_ID,
        COLUMN_BUS,
        COLUMN_PORT,
        COLUMN_DISKS,
        COLUMN_SIZE,
        COLUMN_SPEED,
        COLUMN_DRIVER,
        COLUMN_TARGET,
        COLUMN_STATE,
        COLUMN_WHY,
        COLUMN_PRODUCT,
        COLUMN_BRIDGE,
        COLUMN_REVISION,
        COLUMN_SERIAL,
        COLUMN_USB,
        COLUMN_CAPABLE,
        COLUMN_POLICY,
        COLUMN_VERDICT,
        COLUMN_HISTORY,
        COLUMN_HOST,
        COLUMN_BUSY,
        COLUMN_REASON,
        COLUMN_REASON_ID,
        _COLUMN_MAX,
};

#define COLUMNS_MAX 64 /* of one list, which may contain a column several times */
struct columns {
        enum column list[COLUMNS_MAX];
        size_t n;
};

/*
 * spec: names separated by commas, in either case. With "+" in front they follow the default columns. NULL: only the default.
 * Returns 0, or -EINVAL, reported.
 */
int columns_parse(const char *spec, struct columns *ret);

enum column_flag {
        COLUMN_NUMBER = 1 << 0, /* aligned to the right */
        COLUMN_BRIEF = 1 << 1,  /* part of ListDisks, which uasd answers without reading anything */
};

const char *column_name(enum column c);
bool column_is(enum column c, enum column_flag flag);

#define CELL_MAX 4096
/* The text of a cell, made harmless; "" is shown as "-". Returns ret or a static string. */
const char *column_text(enum column c, const struct view *v, char ret[static CELL_MAX]);
