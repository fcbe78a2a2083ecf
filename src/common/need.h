/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdlib.h>

#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"

/* uasctl ends without memory: a partial answer is useless. All other programs return -ENOMEM. */

/* Reports that memory is exhausted, and ends the program with UASD_EXIT_FAILED. */
__attribute__((noreturn)) static inline void no_memory(void)
{
        log_error(N_("There is not enough memory."));
        exit(UASD_EXIT_FAILED);
}

/* Returns p. Ends the program with no_memory() if it is NULL. */
__attribute__((returns_nonnull)) static inline void *need(void *p)
{
        if (!p)
                no_memory();
        return p;
}

/* The same for list_push(). */
#define need_push(list, n, item) ((void) (list_push(list, n, item) || (no_memory(), false)))
