/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/exit-codes.h"
#include "core/facts.h"

/*
 * Whether a request is refused, before anything of it is kept. The one answer for uasd, which refuses, and for uasctl --dry-run,
 * which says so beforehand.
 */
struct refusal {
        enum uasd_exit code; /* UASD_EXIT_OK: not refused; UASD_EXIT_INCAPABLE; UASD_EXIT_REFUSED */
        enum reason reason;  /* the row of the decision table behind it */
        bool force_helps;
};

/* `uasctl switch`. target: DRIVER_NONE removes the override, which is never refused. */
void refuse_switch(const struct facts *f, enum driver target, bool force, struct refusal *ret);
/* `uasctl policy`, also for a disk that has no driver or another one at the moment. */
void refuse_policy(const struct facts *f, enum policy p, bool force, struct refusal *ret);

/* Why: a sentence. */
const char *refusal_text(const struct refusal *r);
