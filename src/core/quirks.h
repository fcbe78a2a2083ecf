/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/types.h"

/*
 * The `quirks` parameter of usb_storage (drivers/usb/storage/usb.c:usb_stor_adjust_quirks) and the
 * kernel's own tables. The string has at most 127 characters. The first entry that matches VID:PID
 * counts, and it *replaces* the built-in flags: our entry repeats them.
 */
#define QUIRKS_MAX 127
/* usb_stor_adjust_quirks() knows these letters and ignores every other character. */
#define QUIRK_LETTERS "abcdefghijklmnoprstuwy"
/* Versions of Linux in order: its release as a number. 0: unknown, which counts as the newest. */
#define LINUX(major, minor) ((major) << 8 | (minor))
#define QUIRK_ENTRY_MAX 40 /* "vvvv:pppp:" and every letter once, with its NUL */

/* The source of the kernel's own flags for a bridge. */
enum kernel_source {
        KERNEL_SAYS_NOTHING,
        KERNEL_TABLE_UAS,     /* unusual_uas.h: both drivers obey */
        KERNEL_TABLE_STORAGE, /* a row only in unusual_devs.h: usb-storage binds to the disk, but
                                 uas would, too */
        KERNEL_RULE,          /* ASMedia, Seagate, HIKSEMI: code in uas-detect.h */
};

struct bridge {
        uint16_t vid, pid, bcd;
        bool any_bcd; /* unknown firmware: kernel_letters() then has the flags of all its rows */
        unsigned speed_mbps;
        unsigned status_streams;
        uint8_t max_power;
        unsigned kernel;                    /* LINUX() of the kernel that runs */
        const char *manufacturer, *product; /* may be NULL */
};

struct kernel_flags {
        char letters[28];          /* for uas, as an entry must repeat them, without 'u'; sorted */
        bool ignore_uas;           /* the kernel keeps this bridge off UAS */
        enum kernel_source source; /* of ignore_uas, else of the letters */
        const char *name;          /* the name in the table, or NULL */
};

/* Reads the kernel's tables and rules for this bridge, without the parameter. */
void kernel_flags(const struct bridge *b, struct kernel_flags *ret);

/* Flags as a set of letters, as the kernel has them as a set of bits. */
typedef uint32_t letters_t;
#define LETTER(c) ((letters_t) 1 << ((c) - 'a'))
#define LETTER_U LETTER('u')

/* Writes the set in alphabetical order. ret has room for at least 27 characters. */
void letters_format(letters_t letters, char *ret);

/* The flags of one driver before it reads the parameter. */
letters_t kernel_letters(const struct bridge *b, enum driver driver);

/* Reads VID and PID of an entry as the kernel does. Returns false for text that is no entry. */
bool quirk_entry_ids(const char *entry, uint16_t *ret_vid, uint16_t *ret_pid);

/* Finds the first entry of the string that matches. Returns 1 and its letters (lower case, each
 * once), or 0. */
int quirks_find(const char *string, uint16_t vid, uint16_t pid,
                char ret_letters[static QUIRK_ENTRY_MAX]);

/* Returns the first matching entry from here on, without its comma; the next call continues behind
 * it. NULL: none. */
const char *quirks_next(const char *string, uint16_t vid, uint16_t pid, size_t *ret_n);

/* Returns LINUX() of a release as in uname(2), or 0. */
unsigned linux_version(const char *release);

struct quirk_letter {
        const char *flag;  /* of drivers/usb/storage/usb.c, without US_FL_ */
        const char *means; /* a clause: what the kernel does for a disk with it */
        unsigned since;    /* the first LINUX() that knows it; 0: all do */
};

/* NULL: this kernel ignores such a letter. */
const struct quirk_letter *quirk_letter_find(char letter, unsigned kernel);

/* Copies the text of that entry. Returns 1, or 0 with an empty ret if there is none, or it is too
 * long to be ours. */
int quirks_entry_of(const char *string, uint16_t vid, uint16_t pid,
                    char ret_entry[static QUIRK_ENTRY_MAX]);

/*
 * Makes the entry for `target`: the letters in force for that driver (those of the matching entry,
 * else the kernel's own) with or without 'u'. It has no letter that this kernel ignores. If 'u' is
 * removed from an entry, the kernel's letters for uas are added again: the author of 'u' cleared
 * them by accident. Returns 1 and the entry ("1209:5a5a:fu"). Returns 0 if the string is already
 * right for the target, or if this kernel has no 'u'.
 */
int quirks_entry(const char *string, const struct bridge *b, enum driver target,
                 char ret_entry[static QUIRK_ENTRY_MAX]);

/* Puts the entry first. Returns 0, or -ENOSPC if it needs more than 127 characters. */
int quirks_prepend(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1]);

/* Removes all entries that match: behind one of ours they have no effect. */
void quirks_drop(const char *string, uint16_t vid, uint16_t pid, char ret[static QUIRKS_MAX + 1]);

/* Removes the first entry with exactly this text, and does not change the others. Returns 1, or 0
 * if there is none. */
int quirks_remove(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1]);
/* Removes each of the entries once. ret may be string, but not entries. */
void quirks_without(const char *string, const char *entries, char ret[static QUIRKS_MAX + 1]);
