/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The reads of a test that the disk has not answered, or with an error. A child makes them, and may
 * hang. So they are in memory that it shares with its parent.
 */
#define UNREAD_MAX 64
#define UNREAD_DONE UINT64_MAX
struct unread {
        unsigned lun;
        bool samples; /* the failure was in a fingerprint; without a place it was in the partition
                         table */
        unsigned n;
        uint64_t at[UNREAD_MAX]; /* offsets in bytes; UNREAD_DONE: this one was answered */
};

/* Copies those that are open. Returns false if there are none. */
bool unread_copy(const struct unread *u, struct unread *ret);

/* A line of text, to be kept over the end of the process. unread_parse() returns false if the text
 * is none. */
#define UNREAD_TEXT_MAX (UNREAD_MAX * 17 + 32)
char *unread_text(const struct unread *u, char ret[static UNREAD_TEXT_MAX]);
bool unread_parse(const char *text, struct unread *ret);
