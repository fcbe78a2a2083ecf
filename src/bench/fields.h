/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"

/* The members of a result, once: JSON, CSV and a file that is read back use these tables. */

enum field_type {
        FIELD_STRING, /* null: nothing is known */
        FIELD_WORD,   /* a string that is never null in JSON */
        FIELD_UINT,   /* unsigned */
        FIELD_UINT64,
        FIELD_REAL,
        FIELD_KNOWN, /* a real; negative, and null in JSON: not known */
        FIELD_BOOL,
        FIELD_ERRNO, /* 0 or a negative errno */
        FIELD_DRIVER,
        FIELD_AXIS,
        FIELD_TIME, /* usec of CLOCK_REALTIME */
        FIELD_SIDE, /* a struct bench_side */
};

struct field {
        const char *name; /* NULL: the end of the table */
        enum field_type type;
        size_t offset;
        const char *column; /* in CSV; NULL: the name; "": none */
        uint64_t max;       /* of a number that is read; 0: what its type holds */
};

extern const struct field bench_fields[], finding_fields[], pattern_fields[], run_fields[], side_fields[];
extern const struct field queue_fields[], conditions_fields[];

static inline const void *field_at(const struct field *f, const void *from)
{
        return (const char *) from + f->offset;
}

/* Frees all strings of the table's struct. */
void fields_free(const struct field *fields, void *from);

const char *bench_axis_to_string(enum bench_axis a);
int bench_axis_from_string(const char *s); /* -EINVAL */
