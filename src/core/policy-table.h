/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/policy.h"

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
};
void policy_input_read(const struct facts *f, struct policy_input *ret);

struct decision_row {
        enum reason reason;
        bool (*fits)(const struct policy_input *in);
        enum driver target;
        enum driver (*choose)(const struct policy_input *in); /* replaces `target`, or NULL */
        const char *choice;                                   /* its result in words */
        enum state rest;                                      /* STATE_SETTLED (0) becomes STATE_UNBOUND without a driver */
        const char *yes, *no;                                 /* the facts, if the row fits and if not */
        void (*found)(const struct policy_input *in, char *ret, size_t size); /* replaces them if more must be said */
        const char *means;
        const char *remedy;
        const char *(*advise)(const struct policy_input *in); /* replaces `remedy`, or NULL */
};
/* One row for each reason. The last one always fits. */
extern const struct decision_row policy_rows[_REASON_MAX];

/* policy-rows.c */
void found_policy(const struct policy_input *in, char *ret, size_t size);
/* The remedy for the policy. auto removes the policy of uasctl, and that of another source applies. NULL: `remedy` applies. */
const char *policy_remedy(const struct policy_input *in);
bool fits_uas_kept_away(const struct policy_input *in);
void found_uas_kept_away(const struct policy_input *in, char *ret, size_t size);
bool fits_trial_failed(const struct policy_input *in);
void found_trial(const struct policy_input *in, char *ret, size_t size);
bool fits_distrusted(const struct policy_input *in);
void found_distrusted(const struct policy_input *in, char *ret, size_t size);
