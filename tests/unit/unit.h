/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What cmocka wants to have been included before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"

/* In a table: say which row it was. */
#define assert_row(i, condition)                                                                                                 \
        do {                                                                                                                     \
                if (!(condition))                                                                                                \
                        fail_msg("row %zu: %s", (size_t) (i), #condition);                                                       \
        } while (0)
