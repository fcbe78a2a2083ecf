/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In every test of cmocka: $ONE_CASE is a pattern, and only the cases of that name run.
 * tests/one-case sets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void __attribute__((constructor)) choose(void)
{
        const char *pattern = getenv("ONE_CASE");

        if (pattern)
                cmocka_set_test_filter(pattern);
}
