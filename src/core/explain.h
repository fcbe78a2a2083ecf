/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/policy.h"

/* One row of the decision table held against one disk. */
struct explain_row {
        enum reason reason;
        bool fits;          /* this row's condition is met */
        bool decides;       /* and no row above was: this is the one */
        char found[320];    /* what was found, a clause */
        const char *means;  /* what it means, a sentence */
        const char *remedy; /* what to do if one wants it otherwise, or NULL */
};

/* Fills at most `max` rows, all rows of the table in order. Returns how many. */
size_t explain(const struct facts *f, struct explain_row *rows, size_t max);

/* The row that decides; NULL: it is not among these. */
const struct explain_row *explain_deciding(const struct explain_row *rows, size_t n);

/* The sentence for a reason (`reason` in JSON). Never NULL. */
const char *reason_sentence(enum reason r);
/* What a state is, a sentence. Never NULL. */
const char *state_sentence(enum state s);

/*
 * Of a disk without a driver, though uas is there and nothing keeps it off: what may have happened, and what to do, sentences.
 * Empty for any other. probe_error: with what uas gave up (kmsg_note_probe() of core/kmsg.h), 0 where nothing tells. Returns ret.
 */
char *explain_unbound(const struct facts *f, int probe_error, char *ret, size_t size);
