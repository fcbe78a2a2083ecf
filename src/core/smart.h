/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"

/* Checks before SMART commands. These can do harm: under uas some bridges crash on vendor commands,
 * or on any ATA commands. */

#define SMART_TYPE_MAX 32

enum smart_lookup {
        SMART_ABSENT, /* smartctl says that its database does not have the bridge */
        SMART_FOUND,
        SMART_UNSUPPORTED, /* it has the bridge, and knows no type that works */
        SMART_UNREADABLE,  /* its answer is none of these, or smartctl failed */
        SMART_LATE,        /* no answer in time */
        _SMART_LOOKUP_MAX,
};

/*
 * Finds the type of this bridge (-d) in smartctl's own database, from `smartctl -P showall
 * 0xVID:0xPID 0xBCD`, which opens no device. The first entry is the closest one. Writes ret only
 * with SMART_FOUND. Never returns SMART_LATE.
 */
enum smart_lookup smart_type_parse(const char *text, char ret[static SMART_TYPE_MAX]);

/* Returns true if the kernel answers ATA commands to this disk itself, with an error, while it is
 * on driver d (flag t). */
bool smart_ata_blocked(const struct facts *f, enum driver d);

/* Writes what flag t does to a disk on uas, or that an entry has removed the flag. Empty: nothing
 * to say. Returns ret. */
char *smart_explain(const struct facts *f, char *ret, size_t size);

struct smart_case {
        enum state state;
        enum verdict verdict;
        bool timeouts; /* a command has timed out */
        enum smart_lookup lookup;
        bool root;
        bool distrusted, on_trial;
        bool leased;    /* a program has the lease, and may be measuring the disk */
        bool switching; /* a switch is under way */
        bool blocked;   /* the kernel blocks the commands of its type, and usb-storage would not */
};

/* Returns why the disk should not be asked, a clause; NULL: it may be asked. */
const char *smart_why_not(const struct smart_case *c);
