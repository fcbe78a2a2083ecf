/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "switch/transaction.h"

/*
 * Whoever keeps a disk busy chooses the name of his process, and where he mounts it. So words that may hold names stay on
 * their line, and their line is no longer than uasd has room for.
 */
void end_line(const struct transaction *t, char ret[static END_LINE_MAX])
{
        char text[sizeof(t->text)];

        (void) snprintf(ret, END_LINE_MAX, "END %i %s %s\n", t->code, t->step, make_harmless(t->text, text, sizeof(text)));
}
