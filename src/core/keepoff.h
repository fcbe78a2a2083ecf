/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/quirks.h"

/*
 * Which bridges are kept off uas from their first moment on, by entries of ours in the quirks parameter. The kernel
 * goes by VID:PID alone: where anything kept wants one of two alike disks on uas, neither of them is kept off.
 */
struct kept_disk {
        uint16_t vid, pid;
        char *name; /* its serial; "@1.4" without one; "": what is said of every disk of this VID:PID */
        enum policy policy;
        bool distrusted; /* at any port */
        bool trial_failed;
        bool good;      /* its trial there was passed, or is under way */
        bool uas_alone; /* off uas it would have no driver at all */
};

struct kept_disks {
        struct kept_disk *list;
        size_t n;
};

void kept_disks_done(struct kept_disks *k);
struct kept_disk *kept_disk_find(const struct kept_disks *k, uint16_t vid, uint16_t pid, const char *name);
/* The disk of that name, a new one if there is none; NULL: no memory. */
struct kept_disk *kept_disk(struct kept_disks *k, uint16_t vid, uint16_t pid, const char *name);
/* A disk of that kind is plugged in and speaks UAS alone: whatever is said, there is no entry. 0 or -ENOMEM. */
int kept_disks_uas_alone(struct kept_disks *k, uint16_t vid, uint16_t pid);

/* What is wanted for good of a disk that is plugged in, by whatever says so: udev's property and what holds for all disks name
 * none. */
enum policy kept_policy(const struct facts *f);
/* The name of struct kept_disk. twin: another one that is plugged in has its serial too. */
const char *kept_name(const struct facts *f, bool twin, char *ret, size_t size);

bool keepoff_wanted(const struct kept_disks *k, uint16_t vid, uint16_t pid);

struct keepoff {
        char quirks[QUIRKS_MAX + 1]; /* the whole parameter: ours, then those of others */
        char own[QUIRKS_MAX + 1];    /* ours; empty: nothing to be said */
        char **left_out;             /* those that 127 characters do not hold, */
        char **left_out_disks;       /* and for whom each was: "1209:5a5a:SERIAL" */
        size_t n_left_out;
};

/*
 * others: the parameter as it would be without us. instead: the line takes the place of theirs, so what ours supersede is left
 * out of it; where ours are to be taken out again, it has to stay. Policies come first, then distrust. 0 or -ENOMEM.
 */
int keepoff_entries(const struct kept_disks *k, const char *others, bool instead, struct keepoff *ret);
/* Notes an entry for which there is no room; name as in struct kept_disk. 0 or -ENOMEM. */
int keepoff_leave_out(struct keepoff *k, const char *entry, uint16_t vid, uint16_t pid, const char *name);
void keepoff_done(struct keepoff *k);
