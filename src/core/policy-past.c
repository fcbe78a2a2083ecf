/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy-table.h"

#include "common/util.h"
#include "core/history.h"

/* The rows of a disk's own history. */

/* Policy is a word of another day; whoever asks by `switch` now knows what happened. */
bool fits_trial_failed(const struct look *l)
{
        return !l->override && l->wish == DRIVER_UAS && l->f->trial_failed;
}

void found_trial(const struct look *l, char *ret, size_t size)
{
        const struct facts *f = l->f;

        char why[HISTORY_TEXT_MAX];

        if (f->trial_failed)
                (void) snprintf(ret, size, "its trial failed: %s", history_clause(f, why, sizeof(why)));
        else
                (void) snprintf(ret, size, "%s",
                                f->trial_open   ? "its trial is under way" :
                                f->trial_passed ? "its trial was passed" :
                                                  "no trial has failed");
}

bool fits_distrusted(const struct look *l)
{
        return l->f->distrusted;
}

void found_distrusted(const struct look *l, char *ret, size_t size)
{
        char why[HISTORY_TEXT_MAX];

        (void) history_clause(l->f, why, sizeof(why));
        (void) snprintf(ret, size, "%s%s%s", l->f->distrusted ? "distrusted" : "nothing is held against it",
                        l->f->distrusted && *why ? ": " : "", l->f->distrusted ? why : "");
}
