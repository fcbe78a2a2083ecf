/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirks.h"

/*
 * Who says what of one bridge in the `quirks` of usb-storage, and what comes of it.
 *
 * kmod hands the kernel all that is said in modprobe.d, in the order of the files' names, and after it what the kernel command
 * line says; every `quirks=` takes the place of the one before (module_param_string()), so the last one makes the whole string.
 * Built into the kernel, usb-storage goes by the command line alone. A string the kernel has no room for is refused: the module
 * is then not loaded.
 */

enum quirk_source {
        QUIRK_COMMAND_LINE,
        QUIRK_MODPROBE,
        QUIRK_KEPT,     /* an entry of ours that stays: a disk is kept off uas */
        QUIRK_UASD,     /* an entry of ours, there for a bind */
        QUIRK_RUN_TIME, /* nobody of these: somebody wrote it, or it is from files that read otherwise then */
        _QUIRK_SOURCE_MAX,
};

enum quirk_effect {
        QUIRK_IN_FORCE,   /* the kernel goes by it, at the next bind */
        QUIRK_SECOND,     /* in the parameter, behind another one for the same bridge */
        QUIRK_OVERRULED,  /* by a later `quirks=`, `by` */
        QUIRK_NOT_READ,   /* in modprobe.d, and usb-storage is built in */
        QUIRK_TOO_LONG,   /* in a string the kernel refuses */
        QUIRK_NOT_LOADED, /* it would be in force after a start, and is not in the parameter now */
        _QUIRK_EFFECT_MAX,
};

const char *quirk_source_to_string(enum quirk_source v);
const char *quirk_effect_to_string(enum quirk_effect v);

/* One `quirks=` of modprobe.d or of the command line. */
struct quirk_line {
        enum quirk_source source;
        char *file;    /* "/etc/modprobe.d/a.conf"; NULL: the command line */
        unsigned line; /* its first one, from 1 on */
        char *value;
};

/* In the order in which the kernel gets them. */
struct quirk_lines {
        struct quirk_line *list;
        size_t n;
};
/* Copies file (may be NULL) and value. 0 or -ENOMEM. */
int quirk_lines_add(struct quirk_lines *l, enum quirk_source source, const char *file, unsigned line, const char *value);
void quirk_lines_done(struct quirk_lines *l);

struct quirk_facts {
        char parameter[QUIRKS_MAX + 1];
        bool built_in; /* usb-storage is part of the kernel */
        struct quirk_lines lines;
        char own_kept[QUIRKS_MAX + 1]; /* entries of ours that stay */
        char own_now[QUIRKS_MAX + 1];  /* entries of ours for a bind that goes on */
};
void quirk_facts_done(struct quirk_facts *q);

/* The one that makes the string at the next load of usb-storage; NULL: none. */
const struct quirk_line *quirk_lines_last(const struct quirk_facts *q);

struct quirk_word {
        char entry[QUIRKS_MAX + 1];
        enum quirk_source source;
        enum quirk_effect effect;
        const struct quirk_line *line; /* where it is said; NULL: in no file */
        const struct quirk_line *by;   /* of QUIRK_OVERRULED */
};

/* All that is said of this bridge: what is in the parameter first, in its order. Returns how many, `max` at most. */
size_t quirk_words(const struct quirk_facts *q, uint16_t vid, uint16_t pid, struct quirk_word *ret, size_t max);

/* Clauses: who said it ("/etc/modprobe.d/a.conf, line 3"), what came of it. Return ret. */
char *quirk_word_who(const struct quirk_word *w, char *ret, size_t size);
char *quirk_word_effect(const struct quirk_word *w, char *ret, size_t size);
/* A sentence: what to do to have it otherwise. Returns ret. */
char *quirk_word_remedy(const struct quirk_word *w, char *ret, size_t size);

/*
 * Takes the next argument off a command line, or off the options of a module, as the kernel does (lib/cmdline.c:next_arg): blanks
 * divide, but not between double quotes; quotes around all of it or around its value are taken away. Writes into `args`.
 * Returns what follows, for the next call, or NULL: there was none left. *ret_value is NULL where there is no '='.
 */
char *kernel_next_arg(char *args, char **ret_name, char **ret_value);

/*
 * Whether the name of an argument is `name`. To the kernel and to kmod '-' and '_' are one; modprobe.d(5) says the same of
 * the names of modules.
 */
bool kernel_name_is(const char *argument, const char *name);
