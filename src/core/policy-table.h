/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/policy.h"

/* The one table behind decide() and explain(): what decides and what is said about it cannot drift apart. */

/* What several rows ask for, found out once. */
struct policy_input {
        const struct facts *f;
        struct kernel_flags kernel;
        bool entry; /* an entry of the parameter matches: it has replaced the kernel's own flags */
        char letters[QUIRK_ENTRY_MAX];
        bool entry_ignores;   /* and says 'u' */
        bool kernel_ignores;  /* no entry does away with the kernel's own word against UAS */
        enum driver override; /* uas, usb-storage or none: what was asked for by uasctl switch, */
        enum driver wish;     /* ... or else by policy */
        bool forced;
};
void policy_input_read(const struct facts *f, struct policy_input *ret);

struct decision_row {
        enum reason reason;
        bool (*fits)(const struct policy_input *in);
        enum driver target;
        enum driver (*choose)(const struct policy_input *in); /* instead of `target`, or NULL */
        const char *choice;                                   /* what that comes to, in words */
        enum state rest;                                      /* STATE_SETTLED (0) becomes STATE_UNBOUND without a driver */
        const char *yes, *no;                                 /* what was found, if it fits and if not: */
        void (*found)(const struct policy_input *in, char *ret, size_t size); /* ... or this, where more is to be said */
        const char *means;
        const char *remedy;
        const char *(*advise)(const struct policy_input *in); /* instead of `remedy`, if that is not NULL */
};
/* One row a reason; the last one fits always. */
extern const struct decision_row policy_rows[_REASON_MAX];

/* policy-rows.c */
void found_policy(const struct policy_input *in, char *ret, size_t size);
/* auto takes back what uasctl policy has said; what was said elsewhere stands behind it. NULL: the former. */
const char *policy_remedy(const struct policy_input *in);
bool fits_uas_kept_away(const struct policy_input *in);
void found_uas_kept_away(const struct policy_input *in, char *ret, size_t size);
bool fits_trial_failed(const struct policy_input *in);
void found_trial(const struct policy_input *in, char *ret, size_t size);
bool fits_distrusted(const struct policy_input *in);
void found_distrusted(const struct policy_input *in, char *ret, size_t size);
