/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "core/devname.h"
#include "sys/io/roots.h"

/* Lines in fstab and crypttab with a name of the disk that may disappear with its driver. */

struct mention {
        const char *file; /* "/etc/fstab" */
        char *where;      /* mount point, or name of the mapping; NULL: none */
        char *name;
        enum devname kind;
        char *instead; /* "UUID=..."; NULL: none */
};

struct mentions {
        struct mention *list;
        size_t n;
};

/* The lines about this interface's disk. A file that cannot be read counts as empty. */
void mentions_read(const struct roots *r, const char *interface, struct mentions *ret);
void mentions_done(struct mentions *m);
void mentions_print(const struct mentions *m);
