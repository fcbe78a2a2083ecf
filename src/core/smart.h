/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/types.h"

/* Checks before SMART commands. These can do harm: under uas some bridges crash on vendor commands, or on any ATA commands. */

#define SMART_TYPE_MAX 32

/*
 * Finds the type of this bridge (-d) in smartctl's own database, from `smartctl -P showall 0xVID:0xPID 0xBCD`, which opens no
 * device. The first entry is the closest one. Returns false if there is none, or none that works.
 */
bool smart_type_parse(const char *text, char ret[static SMART_TYPE_MAX]);

struct smart_case {
        enum state state;
        enum verdict verdict;
        const char *history; /* as in disk_history() */
        bool timeouts;       /* a command has timed out */
        bool known;          /* smart_type_parse() found its type */
        bool root;
        bool leased;    /* a program has the lease, and may be measuring the disk */
        bool switching; /* a switch is under way */
};

/* Returns why the disk should not be asked, a clause; NULL: it may be asked. */
const char *smart_why_not(const struct smart_case *c);
