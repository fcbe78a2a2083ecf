/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

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
