/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

struct decision {
        enum driver target; /* DRIVER_NONE: leave it on its driver */
        enum state rest; /* the state of a disk that needs no switch: settled, ignored, incapable,
                            unbound */
        enum reason reason;
};

/* Uses the first row of the table that fits. The last row always fits. */
void decide(const struct facts *f, struct decision *ret);

/* Returns true if there is a target, and it is not the present driver. */
bool decision_wants_switch(const struct facts *f, const struct decision *d);

/* Returns true for a switch away from uas, where it failed: a disk that must leave its driver. */
bool decision_flees(const struct facts *f, const struct decision *d);

/*
 * Returns true if the switch is possible in udev's event of the interface, in the initramfs or in
 * the coldplug of the root file system. In an initramfs a trial cannot be recorded, so uas is only
 * for disks that have passed theirs. A switch away from uas is always safe.
 */
bool decision_fits_early(const struct facts *f, const struct decision *d, bool initramfs);

/* The table for decide() and explain(): so the decision and its explanation always agree. */

/* Input of several rows, computed once. */
struct policy_input {
        const struct facts *f;
        struct kernel_flags kernel;
        bool entry; /* an entry of the parameter matches: it replaces the kernel's own flags */
        char letters[QUIRK_ENTRY_MAX];
        bool entry_ignores;   /* the entry contains 'u' */
        bool kernel_ignores;  /* the kernel's own table forbids UAS, and no entry overrides it */
        enum driver override; /* uas, usb-storage or none, by uasctl switch */
        enum driver wish;     /* the override, or else by policy */
        bool forced;
        bool fits[_REASON_MAX]; /* the condition of each row */
};
void policy_input_read(const struct facts *f, struct policy_input *ret);

struct decision_row {
        const char *word;  /* the stable word of the reason */
        const char *brief; /* the same in at most 12 characters, for the table of `uasctl list`;
                              NULL: the word */
        enum driver target;
        const char *choice;   /* in words: the facts decide instead of `target` */
        enum state rest;      /* STATE_SETTLED (0) becomes STATE_UNBOUND without a driver */
        const char *yes, *no; /* the facts, if the row fits and if not; NULL: found() writes them */
        void (*found)(const struct policy_input *in, char *ret, size_t size);
        const char *means;
        const char *remedy;
        const char *(*advise)(const struct policy_input *in); /* replaces `remedy`, or NULL */
};
/* One row for each reason, in the order of the enum. The last one always fits. */
extern const struct decision_row policy_rows[_REASON_MAX];

/* ---- explain.c ---- */

/* One row of the decision table, applied to one disk. */
struct explain_row {
        enum reason reason;
        bool fits;          /* the condition of this row is true */
        bool decides;       /* and no earlier row fits: this row decides */
        bool applies;       /* it fits, and the row that decides leaves it a meaning */
        char found[320];    /* the facts, a clause */
        const char *means;  /* their meaning, a sentence */
        const char *remedy; /* how to change that, or NULL */
};

/* Fills at most `max` rows, all rows of the table in order. Returns their number. */
size_t explain(const struct facts *f, struct explain_row *rows, size_t max);

/* Returns the row that decides; NULL: not among these. */
const struct explain_row *explain_deciding(const struct explain_row *rows, size_t n);

/* Returns the sentence for a reason (`reason` in JSON). Never NULL. */
const char *reason_sentence(enum reason r);
/* The same for this disk: some reasons have more than one sentence. */
const char *reason_sentence_of(const struct facts *f, enum reason r);
/*
 * Returns the reason for a driver in one word of at most 12 characters, for the table of `uasctl
 * list`: the column has to fit into 80 with all others. Never NULL.
 */
const char *why_word(enum state s, enum reason r);
/* Returns the meaning of a state, a sentence. Never NULL. */
const char *state_sentence(enum state s);

/*
 * Writes which driver the kernel itself chooses for this disk and why, and whether a switch has
 * moved it since. Empty: the disk offers no choice. rows: of explain(). built: 1 if usb-storage is
 * built with UAS support, 0 if not, negative if unknown. Returns ret.
 */
char *explain_kernel(const struct facts *f, const struct explain_row *rows, size_t n, int built,
                     char *ret, size_t size);

/*
 * For a disk without a driver, although uas is there and nothing forbids it: writes the possible
 * causes and remedies, as sentences. Empty for any other disk. probe_error: the error of uas
 * (kmsg_note_probe() of core/kmsg.h), 0 if unknown. Returns ret.
 */
char *explain_unbound(const struct facts *f, int probe_error, char *ret, size_t size);

/* If the initramfs does not have the record of the disk: writes what follows from that, and the
 * command that makes it again (NULL: not known). Empty for any other disk. Returns ret. */
char *explain_initramfs(const struct facts *f, const char *command, char *ret, size_t size);
