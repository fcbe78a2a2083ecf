/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirks.h"

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
