/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/bridge-db.h"
#include "core/explain.h"
#include "term/style.h"

/* Text for people, on stdout. Names from a device or user are made harmless. 0 or -ENOMEM. */

/* One of SGR_*. */
const char *sgr_of_state(enum state s);

int output_rows(const struct explain_row *rows, size_t n, bool legend);
/* Replaces DISK in advice by the name of this disk, so that the command can be pasted. Returns ret. */
const char *output_named(const char *text, const char *id, char *ret, size_t size);
/* Prints the deciding row in sentences. id: the name of the disk. remedy: replaces that of the row, or NULL. */
void output_decision(const struct explain_row *rows, size_t n, const char *remedy, const char *id);
/* The statements of the database, and whether each applies to this firmware (-1: not known) and platform. */
int output_says(const struct db_entry *e, int bcd, const char *platform, bool legend);
void output_status(const struct view *v);

/* A "key: value" line, or none without a value. An empty key continues the field above, also in output_sentence(). */
void output_field(const char *key, const char *value);
/* The same for a sentence. Names in it may already be harmless. */
void output_sentence(const char *key, const char *value);

/* "2026-11-20 15:45:07", local time; "-" for 0. usec: since 1970. */
#define CLOCK_MAX 32
const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX]);

/* A part of a line. Names in it may already be harmless. */
void output_part(const char *text);
/* The rest of a line after `used` cells, folded on a terminal. */
void output_line(int used, const char *text);

/* The end of a line: ". Sentence", or nothing. */
void output_tail(const char *sentence);
