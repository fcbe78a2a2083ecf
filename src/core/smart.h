/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/* Asking a disk how it is, which is not harmless: there are bridges that vendor commands, or ATA commands at
 * all, bring down under uas. */

#define SMART_TYPE_MAX 32

/*
 * What smartctl's own database calls the type of this bridge (-d), from `smartctl -P showall 0xVID:0xPID
 * 0xBCD`, which looks at no device. The first entry is the closest one. False: it knows none, or none that
 * works.
 */
bool smart_type_parse(const char *text, char ret[static SMART_TYPE_MAX]);

struct smart_case {
        enum state state;
        enum verdict verdict;
        const char *history; /* as disk_history() says it */
        bool timeouts;       /* a command has run out of time */
        bool known;          /* smart_type_parse() found its type */
        bool root;
        bool leased;    /* somebody has it for himself, and may be measuring it */
        bool switching; /* it is being moved just now */
};

/* Why the disk is not to be asked, a clause; NULL: it may be. */
const char *smart_why_not(const struct smart_case *c);
