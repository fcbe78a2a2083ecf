/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * Settings of users for disks, stored as in sys/state/store.h: "VID:PID:SERIAL=words", for any port. A disk without a serial, or
 * with the serial of another disk, has a line with its port, as in its history (core/history.h):
 * "VID:PID:@0000:00:14.0/ss/1.4=words".
 */

#define SETTING_MAX 256

struct setting {
        char port[SETTING_MAX]; /* for the disk at this port: goes before that for any port */
        char disk[SETTING_MAX]; /* empty: none */
};

/* Returns 0 or -errno. */
int setting_lookup(const struct roots *r, const char *file, const struct facts *f, struct setting *ret);

/* Calls fn for every line. Returns 0, -errno, or the negative result of fn. */
int settings_each(const struct roots *r, const char *file, int (*fn)(const char *key, const char *words, void *data), void *data);

struct setting_line {
        const char *file, *writer; /* writer: the command that writes it, for the first line of the file */
        const char *words;
        bool usual; /* means the same as no line: written only if a line for any port says otherwise */
        bool port;  /* only for this disk, since another one has the same name */
};

/* Errors as store_change(). */
int setting_store(const struct roots *r, const struct facts *f, const struct setting_line *l);
/* The same for a disk that is not plugged in, by its key. */
int setting_store_id(const struct roots *r, const char *id, const struct setting_line *l);
