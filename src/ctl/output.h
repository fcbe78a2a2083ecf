/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/bridge-db.h"
#include "core/explain.h"
#include "term/style.h"

/* What people read, on stdout. All that a device or a user named is made harmless. 0 or -ENOMEM. */

/* One of SGR_*. */
const char *sgr_of_state(enum state s);

int output_rows(const struct explain_row *rows, size_t n, bool legend);
/* Advice speaks of DISK: the name of this one makes it a command to paste. Returns ret. */
const char *output_named(const char *text, const char *id, char *ret, size_t size);
/* The one that decides, in sentences, id being what the disk is called. remedy: a better one than the row's, or NULL. */
void output_decision(const struct explain_row *rows, size_t n, const char *remedy, const char *id);
/* The statements of the database, and which of them hold for this firmware and platform. */
int output_says(const struct db_entry *e, uint16_t bcd, const char *platform, bool legend);
void output_status(const struct view *v);

/* A "key: value" line; none if there is no value. An empty key goes on with the one above, here and in output_sentence(). */
void output_field(const char *key, const char *value);
/* The same for a sentence, in which names may be harmless already. */
void output_sentence(const char *key, const char *value);

/* "2026-11-20 15:45:07", local time; "-" for 0. usec: since 1970. */
#define CLOCK_MAX 32
const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX]);

/* A part of a line, names in it harmless already or not. */
void output_part(const char *text);

/* The end of a line: ". Sentence", or nothing. */
void output_tail(const char *sentence);
