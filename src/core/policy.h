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
