/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/exit-codes.h"
#include "core/facts.h"

/* Decides whether a request is refused, before it is stored. uasd and uasctl --dry-run both use this. */
struct refusal {
        enum uasd_exit code; /* UASD_EXIT_OK (not refused), UASD_EXIT_INCAPABLE or UASD_EXIT_REFUSED */
        enum reason reason;  /* the row of the decision table that caused it */
        bool force_helps;
};

/* `uasctl switch`. target: DRIVER_NONE removes the override, which is never refused. */
void refuse_switch(const struct facts *f, enum driver target, bool force, struct refusal *ret);
/* `uasctl policy`, also for a disk without a driver, or with a third one. */
void refuse_policy(const struct facts *f, enum policy p, bool force, struct refusal *ret);

/* Returns the reason, a sentence. */
const char *refusal_text(const struct refusal *r);
