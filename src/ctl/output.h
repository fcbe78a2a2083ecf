/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/local.h"
#include "client/view.h"
#include "common/util.h"
#include "term/layout.h"
#include "term/terminal.h"

/* Text for people, on stdout. Names from a device or user are made harmless. */

/* Copies of s without harmful characters, cut to what a line can hold. In a sentence, names may
 * already be harmless. */
#define OUTPUT_TEXT_MAX 4096
#define HARMLESS(s) make_harmless(s, (char[OUTPUT_TEXT_MAX]){}, OUTPUT_TEXT_MAX)
#define SENTENCE(s) harmless_sentence(s, (char[OUTPUT_TEXT_MAX]){}, OUTPUT_TEXT_MAX)

/* One of SGR_*, by the state: a disk at rest with advice is not green. */
const char *output_colour(const struct view *v);

/* Replaces DISK in advice by the name of this disk, so that the command can be pasted. Returns ret.
 */
const char *output_named(const char *text, const char *id, char *ret, size_t size);

/* The first line about a disk, with a mark in the colour of its state. */
void output_head(const struct view *v, const char *text);
/* A "key: value" line with a translated key, or none without a value. An empty key continues the
 * field above, also in output_sentence(). */
void output_field(const char *key, const char *value);
/* The same for a command: it stays in one line, because it may be pasted. */
void output_command(const char *key, const char *command);
/* The same with a format. sgr: its colour, one of SGR_*, or "". */
_printf_(3, 4) void output_format(const char *key, const char *sgr, const char *format, ...);
/* The same for a sentence, which is translated. Names in it may already be harmless. */
void output_sentence(const char *key, const char *value);

/* "2026-11-20 15:45:07", local time; "-" for 0. usec: since 1970. */
#define CLOCK_MAX 32
const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX]);

/* The rest of a line after `used` cells, folded on a terminal. */
void output_line(int used, const char *text);

/* The columns of `uasctl list`. */
enum column {
        COLUMN_ID,
        COLUMN_BUS,
        COLUMN_PORT,
        COLUMN_DISK,
        COLUMN_SIZE,
        COLUMN_LINK,
        COLUMN_DRIVER,
        COLUMN_TARGET,
        COLUMN_STATE,
        COLUMN_STATE_ID,
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
 * spec: names separated by commas, in either case. With "+" in front they follow the default
 * columns. NULL: only the default. tree: the port is the first of these. Returns 0, or -EINVAL,
 * reported.
 */
int columns_parse(const char *spec, bool tree, struct columns *ret);

/* named: the user asked for it, so it is not left out. */
struct table_column column_describe(enum column c, bool named);
const char *column_name(enum column c);
/* It has to be read for the column. */
enum detail column_needs(enum column c);

#define CELL_MAX 4096
/* The text of a cell, made harmless; "" is shown as "-". Returns ret or a static string. */
const char *column_text(enum column c, const struct view *v, char ret[static CELL_MAX]);
