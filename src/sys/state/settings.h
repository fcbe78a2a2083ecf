/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * What users set for disks, kept as sys/state/store.h says: "VID:PID:SERIAL=words", wherever the disk is plugged in. A disk
 * without a serial, or with one that another disk has as well, is told from that one only by its port, as in
 * its history (core/history.h): "VID:PID:@0000:00:14.0/ss/1.4=words".
 */

#define SETTING_MAX 256

struct setting {
        char port[SETTING_MAX]; /* of the disk at this port: goes before that of the disk anywhere */
        char disk[SETTING_MAX]; /* empty: none */
};

/* 0, or -errno. */
int setting_lookup(const struct roots *r, const char *file, const struct facts *f, struct setting *ret);

/* Every line; returns 0 or -errno, or what fn returned below 0. */
int settings_each(const struct roots *r, const char *file, int (*fn)(const char *key, const char *words, void *data), void *data);

struct setting_line {
        const char *file, *writer; /* the command that writes it, for the file's first line */
        const char *words;
        bool usual; /* the same as no line: written only where a line for any port says otherwise */
        bool port;  /* another disk of the same name is there, and this one is meant */
};

/* As store_change(). */
int setting_store(const struct roots *r, const struct facts *f, const struct setting_line *l);
/* The same for a disk that is not plugged in, by its key. */
int setting_store_id(const struct roots *r, const char *id, const struct setting_line *l);
