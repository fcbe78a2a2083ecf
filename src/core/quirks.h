/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/types.h"

/*
 * The `quirks` parameter of usb_storage (drivers/usb/storage/usb.c:usb_stor_adjust_quirks) and the kernel's
 * own tables. The string holds at most 127 characters; the first entry that matches VID:PID wins, and it
 * *replaces* the built-in flags: an entry of ours restates them.
 */
#define QUIRKS_MAX 127
#define QUIRK_ENTRY_MAX 40 /* "vvvv:pppp:" and every letter once, with its NUL */

/* Where the kernel's own word on a bridge comes from. */
enum kernel_source {
        KERNEL_SAYS_NOTHING,
        KERNEL_TABLE_UAS,     /* unusual_uas.h: both drivers obey */
        KERNEL_TABLE_STORAGE, /* a row of unusual_devs.h alone: usb-storage takes the disk, uas would too */
        KERNEL_RULE,          /* ASMedia, Seagate, HIKSEMI: code in uas-detect.h */
};

struct bridge {
        uint16_t vid, pid, bcd;
        bool any_bcd; /* the firmware is not known: a row for any of them fits */
        unsigned speed_mbps;
        unsigned status_streams;
        uint8_t max_power;
        const char *manufacturer, *product; /* may be NULL */
};

struct kernel_flags {
        char letters[28];          /* of uas, as an entry has to restate them, without 'u'; sorted */
        bool ignore_uas;           /* the kernel keeps this bridge off UAS */
        enum kernel_source source; /* of ignore_uas, else of the letters */
        const char *name;          /* the table's words for it, or NULL */
};

/* What the kernel's tables and rules say of this bridge, the parameter apart. */
void kernel_flags(const struct bridge *b, struct kernel_flags *ret);

/*
 * The first entry of the string that matches.
 * Returns 1 and its letters (lower case, each once) if there is one, else 0.
 */
int quirks_find(const char *string, uint16_t vid, uint16_t pid, char ret_letters[static QUIRK_ENTRY_MAX]);

/* The first entry from here on that matches, up to its comma: go on behind it. NULL: there is none. */
const char *quirks_next(const char *string, uint16_t vid, uint16_t pid, size_t *ret_n);

/* The text of that entry. Returns 1 and it, or 0, ret empty: there is none, or none that we could have written. */
int quirks_entry_of(const char *string, uint16_t vid, uint16_t pid, char ret_entry[static QUIRK_ENTRY_MAX]);

/*
 * The entry which makes `target` possible: the letters in force for that driver (those of the matching entry,
 * else the kernel's own) with or without 'u'. Where 'u' is taken out of an entry, the letters which the kernel
 * has for uas are put back: whoever wrote 'u' cleared them without a thought.
 * Returns 1 and the entry ("1209:5a5a:fu"), or 0 if the string is right for the target as it stands.
 */
int quirks_entry(const char *string, const struct bridge *b, enum driver target, char ret_entry[static QUIRK_ENTRY_MAX]);

/* Puts the entry first. Returns 0, or -ENOSPC if 127 characters do not hold it. */
int quirks_prepend(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1]);

/* Takes out all entries that match: behind one of ours they say nothing any more. */
void quirks_drop(const char *string, uint16_t vid, uint16_t pid, char ret[static QUIRKS_MAX + 1]);

/*
 * Takes out the first entry that is exactly this text, every other one left as it is and where it is.
 * Returns 1, or 0 if there is none.
 */
int quirks_remove(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1]);
/* Each of the entries once. ret may be string, and not entries. */
void quirks_without(const char *string, const char *entries, char ret[static QUIRKS_MAX + 1]);
