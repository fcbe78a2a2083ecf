/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/smart.h"
#include "sys/io/roots.h"

/* What smartctl(8) says of a disk, where it may be asked; and how it is to be called where it is not. */

struct smart {
        bool told;                 /* there is a line on it at all: of a disk that was asked for by name */
        bool missing;              /* there is no smartctl */
        char type[SMART_TYPE_MAX]; /* for -d; empty: its database has none */
        const char *why_not;       /* it was not asked, or did not answer: a clause; NULL: what follows is known */
        int passed;                /* 1, 0; -1: it does not say */
        int temperature;           /* in degrees Celsius; INT_MIN: it does not say */
};

/* root: the folder the machine is in, NULL: the machine itself. v: of which block is the disk. timeouts: a
 * command has run out of time. */
void smart_ask(const struct roots *r, const char *root, const struct view *v, const char *block, bool timeouts,
               struct smart *ret);

/* "passed, 34 °C (smartctl -d sat /dev/sdb)". Returns ret. */
char *smart_sentence(const struct smart *s, const char *block, char *ret, size_t size);
