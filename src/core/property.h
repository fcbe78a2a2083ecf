/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/*
 * The properties of a disk, a row each. uasd's objects on the bus and the JSON of uasctl are made
 * from this table. uasctl-json(7) and uasd-dbus(7) describe it, and tests compare them with what
 * the programs return.
 */

/* A disk for output: the data from the daemon or kernel, and its texts. */
struct view {
        struct disk disk;    /* the first member, so that a property has one offset in both */
        char history[400];   /* a clause, or "" */
        char diagnosis[320]; /* a sentence, or "" */
        char reason[2048];   /* a sentence */
        char reason_id[64];  /* a stable word */
        char former[64];     /* "sda sdb": its block devices before the switch under way */
        usec_t since;        /* it waits since then: CLOCK_BOOTTIME in usec, or 0 */
        usec_t ends;         /* its trial or hold ends then: the same */
        int users_error;     /* 0, or -errno: the users could not be found */
};

enum property_kind {
        PROPERTY_TEXT,
        PROPERTY_HEX,    /* uint16_t; four digits in JSON */
        PROPERTY_NUMBER, /* unsigned */
        PROPERTY_CAPABLE,
        PROPERTY_LUNS,
        PROPERTY_USERS,
        PROPERTY_OUTCOME, /* missing in JSON before the first one */
        _PROPERTY_KIND_MAX,
};

enum property_flag {
        PROPERTY_CONST = 1 << 0,
        PROPERTY_INVALIDATES = 1 << 1, /* PropertiesChanged names it, without its value */
        PROPERTY_SILENT = 1 << 2,      /* no signal has it */
        PROPERTY_NULLABLE = 1 << 3,    /* "" and 0 are null in JSON */
        PROPERTY_FOREIGN = 1 << 4,     /* from the device: a backslash of its own differs from one
                                          that escapes */
};

struct disk_property {
        const char *name, *json;
        enum property_kind kind;
        unsigned flags;      /* enum property_flag */
        size_t offset, size; /* in struct view; 0: `say` returns a word */
        /* Makes the text from the disk; NULL: the text is in it. ret: room for the text. */
        const char *(*say)(const struct disk *d, char *ret, size_t size);
};

extern const struct disk_property disk_properties[];
extern const size_t n_disk_properties;

/* The type of each kind on the bus. */
extern const char *const property_types[_PROPERTY_KIND_MAX];

/* The row with this name on the bus; NULL: none has it. */
const struct disk_property *disk_property_find(const char *name);
/* Makes all sentences from the disk. */
void view_describe(struct view *v);
