/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/quirk-words.h"
#include "core/quirks.h"

/* One string in place of several `quirks=`, or of one that the kernel does not take. */

/*
 * Joins the strings in the order in which the kernel gets them. Of two entries for a bridge the one
 * that is in force stays. A single string stays as it is. Returns NULL without memory; free() frees
 * the result.
 */
char *quirks_join(const char *const *strings, size_t n);

/*
 * Copies `string` without what is no entry, and makes it fit behind `first`. Entries of bridges
 * that are plugged in come first, if there is not room for all. ret_left_out: the entries without
 * room, to be freed with strv_free(). Returns 0 or -ENOMEM.
 */
int quirks_fit(const char *first, const char *string, const struct facts *const *plugged, size_t n,
               char ret[static QUIRKS_MAX + 1], char ***ret_left_out);

/*
 * Returns what a new `quirks=` at this place replaces: all strings there, in one. On the command
 * line also those of modprobe.d, which it overrules. NULL: no memory.
 */
char *quirks_at(const struct quirk_facts *q, enum quirk_source place);
