/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsmartcols/libsmartcols.h>

#include "ctl/columns.h"
#include "sys/io/roots.h"

/* The lines of the buses and hubs that disks hang on. */
struct tree {
        const struct roots *roots; /* what they are is read from here, and stays empty where it cannot be */
        const struct columns *columns;
        struct libscols_table *table;
        struct {
                char *name;
                struct libscols_line *line;
        } * nodes;
        size_t n;
};

void tree_done(struct tree *t);
/* The line below which the disk at this port ("2-1.4") stands, made if need be with those above it. NULL: it hangs on none. */
struct libscols_line *tree_above(struct tree *t, const char *port);
/* Below the line of a disk with more than one LUN, a line each. */
void tree_luns(struct tree *t, struct libscols_line *disk, const struct view *v);
