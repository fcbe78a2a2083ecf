/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"

/* What `uasctl list` can show of a disk. Called as the members of JSON are, where there is one. */
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

#define COLUMNS_MAX 64 /* of one list: a column may stand in it more than once */
struct columns {
        enum column list[COLUMNS_MAX];
        size_t n;
};

/*
 * spec: names with commas in between, in any case; with "+" in front, behind those that are shown without one; NULL: those.
 * 0, or -EINVAL, told.
 */
int columns_parse(const char *spec, struct columns *ret);

enum column_flag {
        COLUMN_NUMBER = 1 << 0, /* stands to the right */
        COLUMN_LONG = 1 << 1,   /* a sentence: cut off first where the terminal is too narrow */
        COLUMN_BRIEF = 1 << 2,  /* ListDisks has it, so uasd has it at hand */
};

const char *column_name(enum column c);
bool column_is(enum column c, enum column_flag flag);

#define CELL_MAX 4096
/* What stands there, harmless; "" is shown as "-". Returns ret or a string of its own. */
const char *column_text(enum column c, const struct view *v, char ret[static CELL_MAX]);
