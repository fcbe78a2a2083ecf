/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/quirks.h"

/*
 * Entries of ours in the quirks parameter keep some bridges off uas from the first moment. The
 * kernel knows only VID:PID. If one of two equal disks belongs on uas by policy or record, neither
 * is kept off.
 */
struct kept_disk {
        uint16_t vid, pid;
        char *name; /* its serial, "@1.4" without one, or "" for every disk of this VID:PID */
        enum policy policy;
        bool distrusted; /* at any port */
        bool trial_failed;
        bool good;      /* its trial there was passed, or is under way */
        bool uas_alone; /* it has no driver but uas */
        bool no_uas;    /* it is plugged in, and does not offer UAS there: an entry would have no
                           effect */
};

struct kept_disks {
        struct kept_disk *list;
        size_t n;
        unsigned kernel; /* LINUX() of the kernel for which entries are made; 0: unknown */
};

void kept_disks_done(struct kept_disks *k);
struct kept_disk *kept_disk_find(const struct kept_disks *k, uint16_t vid, uint16_t pid,
                                 const char *name);
/* Returns the disk of that name, a new one if there is none; NULL: no memory. */
struct kept_disk *kept_disk(struct kept_disks *k, uint16_t vid, uint16_t pid, const char *name);
/* Returns the permanent policy of a disk that is plugged in, from any source: udev and general
 * settings name no disk. */
enum policy kept_policy(const struct facts *f);
/* Writes the name of struct kept_disk. twin: another disk with its serial is plugged in. */
const char *kept_name(const struct facts *f, bool twin, char *ret, size_t size);

/*
 * This disk is plugged in. If it supports only UAS, there is no entry for any of its kind, despite
 * any policy. If it does not offer UAS, there is none for it. twin: as above. Returns 0 or -ENOMEM.
 */
int kept_disks_plugged(struct kept_disks *k, const struct facts *f, bool twin);

bool keepoff_wanted(const struct kept_disks *k, uint16_t vid, uint16_t pid);

struct keepoff {
        char quirks[QUIRKS_MAX + 1]; /* the whole parameter: ours, then those of others */
        char own[QUIRKS_MAX + 1];    /* our entries; empty: none */
        char **left_out;             /* entries for which 127 characters have no room */
        char **left_out_disks;       /* the disk of each: "1209:5a5a:SERIAL" */
        size_t n_left_out;
        char **dropped; /* entries of others, from a string that the kernel does not take */
};

/*
 * others: the parameter without our entries. instead: the line replaces theirs, so entries that
 * ours supersede are left out; if ours are removed again later, they must stay. Policies come
 * first, then distrust. Returns 0 or -ENOMEM.
 */
int keepoff_entries(const struct kept_disks *k, const char *others, bool instead,
                    struct keepoff *ret);
void keepoff_done(struct keepoff *k);

/*
 * The `quirks=` that makes policy effective from the first moment, without uasd: the whole string
 * for the place where the user writes it. Present entries there stay, except those that would have
 * no effect behind ours.
 */

/*
 * base: the entries that are there (core/quirk-join.h). Makes the string for all disks that are
 * kept off uas. If `one` is not NULL, only for that disk, for which the kernel should choose
 * `target`. If base is longer than the kernel takes, the string has what fits of it, the `plugged`
 * disks first. Returns 0 or -ENOMEM. keepoff_done() frees ret.
 */
int kernel_line_make(const char *base, const struct kept_disks *kept, const struct facts *one,
                     enum driver target, const struct facts *const *plugged, size_t n,
                     struct keepoff *ret);
