/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * What users have said of disks, a line a disk: "VID:PID:SERIAL=words", wherever it is plugged in. A disk
 * without a serial, or with one that another disk has as well, is told from that one by its port alone, as in
 * its record (core/history.h): "VID:PID:@0000:00:14.0/ss/1.4=words". /etc/uasd/FILE is what is read, since /var
 * may not be there when a boot has to know; /var/lib/uasd/FILE is its copy.
 */

#define KEPT_MAX 256

struct kept {
        char port[KEPT_MAX]; /* said of it at this port: goes before what is said of it anywhere */
        char disk[KEPT_MAX]; /* empty: nothing */
};

/* 0, or -errno. */
int kept_lookup(const struct roots *r, const char *file, const struct facts *f, struct kept *ret);

/* Every line; returns 0 or -errno, or what fn returned below 0. */
int kept_each(const struct roots *r, const char *file,
              int (*fn)(const char *key, const char *words, void *data), void *data);

struct kept_line {
        const char *file, *verb; /* the verb that writes it, for the file's first line */
        const char *words;
        bool usual; /* the same as no line: written only where a line for any port says otherwise */
        bool port;  /* another disk of the same name is there, and this one is meant */
};

/* Durable in both places on return. Returns 0 or -errno, nothing changed then. */
int kept_store(const struct roots *r, const struct facts *f, const struct kept_line *l);
/* The same for a disk that is not plugged in, by its key. */
int kept_store_id(const struct roots *r, const char *id, const struct kept_line *l);
