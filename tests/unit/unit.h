/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* cmocka needs these headers before its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"

/* For tables: prints the row that failed. */
#define assert_row(i, condition)                                                                   \
        do {                                                                                       \
                if (!(condition))                                                                  \
                        fail_msg("row %zu: %s", (size_t) (i), #condition);                         \
        } while (0)
