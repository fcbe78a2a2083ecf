/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "core/devname.h"
#include "sys/io/roots.h"

/* Lines in fstab and crypttab which know a disk by a name that a change of its driver can take away. */

struct mention {
        const char *file; /* "/etc/fstab" */
        char *where;      /* mount point, or name of the mapping; NULL: there is none */
        char *name;
        enum devname kind;
        char *instead; /* "UUID=..."; NULL: it has none */
};

struct mentions {
        struct mention *list;
        size_t n;
};

/* Those of this interface's disk. A file that cannot be read has no lines. */
void mentions_read(const struct roots *r, const char *interface, struct mentions *ret);
void mentions_done(struct mentions *m);
void mentions_print(const struct mentions *m);
