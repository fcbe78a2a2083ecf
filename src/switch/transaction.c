/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdarg.h>

#include "switch/transaction.h"

int tx_fail(struct transaction *t, int code, int error, const char *format, ...)
{
        va_list ap;

        assert(error < 0 && code != UASD_EXIT_OK);
        if (t->code != UASD_EXIT_OK)
                return error;
        t->code = code;
        va_start(ap, format);
        (void) vsnprintf(t->text, sizeof(t->text), format, ap);
        va_end(ap);
        return error;
}
