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

/* Returns what the kernel does for a disk with this flag, a clause. NULL: the kernel ignores such a
 * letter. */
const char *quirk_letter_means(char letter);

/* Copies the text of that entry. Returns 1, or 0 with an empty ret if there is none, or it is too
 * long to be ours. */
int quirks_entry_of(const char *string, uint16_t vid, uint16_t pid,
                    char ret_entry[static QUIRK_ENTRY_MAX]);

/*
 * Makes the entry for `target`: the letters in force for that driver (those of the matching entry,
 * else the kernel's own) with or without 'u'. If 'u' is removed from an entry, the kernel's letters
 * for uas are added again: the author of 'u' cleared them by accident. Returns 1 and the entry
 * ("1209:5a5a:fu"), or 0 if the string is already right for the target.
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

/* ---- quirk-words.c ---- */

/*
 * The sources of entries for one bridge in the `quirks` of usb-storage, and their effect.
 *
 * kmod passes all `quirks=` of modprobe.d to the kernel, in the order of the file names, and after
 * them those of the kernel command line. Each one replaces the one before (module_param_string()),
 * so the last one is the whole string. If usb-storage is built in, it reads only the command line.
 * The kernel refuses a string that is too long (kernel/params.c). Then a module is not loaded,
 * whichever of its `quirks=` that is. A built-in usb-storage keeps the string before it, and runs.
 */

enum quirk_source {
        QUIRK_COMMAND_LINE,
        QUIRK_MODPROBE,
        QUIRK_KEPT,     /* our permanent entry: a disk is kept off uas */
        QUIRK_UASD,     /* our entry for the time of a bind */
        QUIRK_RUN_TIME, /* none of these: another program wrote it, or files that were changed since
                         */
        _QUIRK_SOURCE_MAX,
};

enum quirk_effect {
        QUIRK_IN_FORCE,   /* the kernel uses it at the next bind */
        QUIRK_SECOND,     /* in the parameter, behind another one for the same bridge */
        QUIRK_OVERRULED,  /* replaced by a later `quirks=`, `by` */
        QUIRK_NOT_READ,   /* in modprobe.d, but usb-storage is built in */
        QUIRK_TOO_LONG,   /* in a string that the kernel refuses */
        QUIRK_NOT_LOADED, /* in force after a restart, but not in the parameter now */
        _QUIRK_EFFECT_MAX,
};

const char *quirk_source_to_string(enum quirk_source v);
const char *quirk_effect_to_string(enum quirk_effect v);

/* One `quirks=` of modprobe.d or of the command line. */
struct quirk_line {
        enum quirk_source source;
        char *file;    /* "/etc/modprobe.d/a.conf"; NULL: the command line */
        unsigned line; /* its first line, from 1 */
        char *value;   /* of a slip: the whole word */
        size_t behind; /* of a slip: it follows this quirks= of the command line (from 1). 0: none
                        */
};

/* In the order in which the kernel gets them. */
struct quirk_lines {
        struct quirk_line *list;
        size_t n;
        struct quirk_line *
                slips; /* words that are no quirks=, but may be meant as one (core/quirk-slips.h) */
        size_t n_slips;
        bool denied; /* this user may not read one of the files */
};
/* Copy file (may be NULL) and value. Return 0 or -ENOMEM. */
int quirk_slips_add(struct quirk_lines *l, const struct quirk_line *slip);
int quirk_lines_add(struct quirk_lines *l, enum quirk_source source, const char *file,
                    unsigned line, const char *value);
void quirk_lines_done(struct quirk_lines *l);

struct quirk_facts {
        char parameter[QUIRKS_MAX + 1];
        bool built_in; /* usb-storage is built in */
        struct quirk_lines lines;
        char own_kept[QUIRKS_MAX + 1]; /* our permanent entries */
        char own_now[QUIRKS_MAX + 1];  /* our entries for present binds */
};
void quirk_facts_done(struct quirk_facts *q);

/* Returns the line that sets the string at the next load of usb-storage; NULL: none. */
const struct quirk_line *quirk_lines_last(const struct quirk_facts *q);

struct quirk_word {
        char entry[QUIRKS_MAX + 1];
        enum quirk_source source;
        enum quirk_effect effect;
        const struct quirk_line *line; /* its source; NULL: not from a file */
        const struct quirk_line *by;   /* for QUIRK_OVERRULED */
        bool built_in;                 /* usb-storage is built in */
};

/* Lists all entries for this bridge: first those in the parameter, in its order. Returns their
 * number, at most `max`. */
size_t quirk_words(const struct quirk_facts *q, uint16_t vid, uint16_t pid, struct quirk_word *ret,
                   size_t max);

/* Write clauses: the source ("/etc/modprobe.d/a.conf, line 3"), the effect. Return ret. */
char *quirk_word_who(const struct quirk_word *w, char *ret, size_t size);
char *quirk_word_effect(const struct quirk_word *w, char *ret, size_t size);
/* Writes a sentence: how to change that. Returns ret. */
char *quirk_word_remedy(const struct quirk_word *w, char *ret, size_t size);

/*
 * Parses the next argument of a command line, or of a module's options, as the kernel does
 * (lib/cmdline.c:next_arg). Blanks separate arguments, but not between double quotes. Quotes around
 * the whole argument or its value are removed. Changes `args`. Returns the rest, for the next call,
 * or NULL if there was no argument. *ret_value is NULL without a '='.
 */
char *kernel_next_arg(char *args, char **ret_name, char **ret_value);

/*
 * Returns true if the name of an argument is `name`. For the kernel and kmod '-' and '_' are the
 * same; modprobe.d(5) says so for the names of modules.
 */
bool kernel_name_is(const char *argument, const char *name);
