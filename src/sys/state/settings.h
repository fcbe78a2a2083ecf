/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/disk.h"
#include "core/facts.h"
#include "core/trim.h"
#include "sys/io/roots.h"

/*
 * Settings of users for disks, stored as in sys/state/store.h: "VID:PID:SERIAL=words", for any
 * port. A disk without a serial, or with the serial of another disk, has a line with its port, as
 * in its history (core/history.h): "VID:PID:@0000:00:14.0/ss/1.4=words".
 */

#define SETTING_MAX 768

struct setting {
        char port[SETTING_MAX]; /* for the disk at this port: goes before that for any port */
        char disk[SETTING_MAX]; /* empty: none */
};

/* Returns 0 or -errno. */
int setting_lookup(const struct roots *roots, const char *file, const struct facts *f,
                   struct setting *ret);

/* Returns 1 if the file has a line, 0, or -errno. */
int settings_any(const struct roots *roots, const char *file);

struct setting_line {
        const char *file,
                *writer; /* writer: the command that writes it, for the first line of the file */
        const char *words;
        bool usual; /* means the same as no line: written only if a line for any port says otherwise
                     */
        bool port;  /* only for this disk, since another one has the same name */
};

/* Errors as store_change(). */
int setting_store(const struct roots *roots, const struct facts *f, const struct setting_line *l);

/* Kept policy (`uasctl policy`), stored as in sys/state/settings.h: "VID:PID:SERIAL=uas force". */

/* Returns 1 and the kept policy of this disk, 0 if there is none, or -errno. */
int policy_lookup(const struct roots *roots, const struct facts *f, enum policy *ret,
                  bool *ret_forced);

/* Calls fn for every kept policy with its key. Returns 0, -errno, or the negative result of fn. */
int policy_each(const struct roots *roots,
                int (*fn)(const char *key, enum policy p, bool forced, void *data), void *data);

/*
 * Stores a policy durably in both places; POLICY_AUTO removes the line. port: only for this disk,
 * since another one has the same name. Returns 0, or -errno and changes nothing.
 */
int policy_store(const struct roots *roots, const struct facts *f, bool port, enum policy p,
                 bool forced);
/* The same for a disk that is not plugged in, by its key. */
int policy_store_id(const struct roots *roots, const char *id, enum policy p, bool forced);

/* All policies that are set, also for disks that are not plugged in. */
struct policy_row {
        char *id; /* "VID:PID:SERIAL", with "@PORT" if it is for a port; "VID:PID" or "*" in the
                     configuration */
        enum policy policy;
        bool forced;
        enum policy_source source;
        char **disks; /* the interfaces to which it applies now */
        size_t n_disks;
};

struct policy_rows {
        struct policy_row *list;
        size_t n;
};

void policy_rows_done(struct policy_rows *p);
/* Adds a row; NULL: no memory. */
struct policy_row *policy_rows_add(struct policy_rows *p, const char *id, enum policy policy,
                                   bool forced, enum policy_source source);

/* plugged: the disks that are plugged in, completed by facts_complete(). Returns 0 or -errno. */
int policy_list(const struct roots *roots, const struct config *c,
                const struct facts *const *plugged, size_t n_plugged, struct policy_rows *ret);
