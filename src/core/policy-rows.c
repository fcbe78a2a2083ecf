/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "core/policy-table.h"

/* Rows of the decision table with longer functions: the policy, the module uas, the history of the disk. */

void found_policy(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        const char *policy = policy_to_string(f->policy);

        (void) snprintf(ret, size, "the policy is %s%s%s", policy ? policy : "unknown", policy_source_clause(f->policy_source),
                        f->policy_forced ? ", forced" : "");
}

const char *policy_remedy(const struct policy_input *in)
{
        bool uas = in->f->policy == POLICY_UAS;

        switch (in->f->policy_source) {
        case POLICY_BY_CONFIG:
                return uas ? "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK usb-storage"
                           : "Change Policy= in uasd.conf and restart uasd, or: uasctl policy DISK uas";
        case POLICY_BY_UDEV:
                return uas ? "Take " PROP_POLICY " out of the udev rule, or: uasctl policy DISK usb-storage"
                           : "Take " PROP_POLICY " out of the udev rule, or: uasctl policy DISK uas";
        case POLICY_BY_NOBODY:
        case POLICY_BY_USER:
        case _POLICY_SOURCE_MAX:
                break;
        }
        return NULL;
}

/* Fits also a disk that was moved to usb-storage for this reason: otherwise it would be moved again and again. */
bool fits_uas_kept_away(const struct policy_input *in)
{
        return in->f->uas_kept_away && in->f->driver != DRIVER_UAS;
}

void found_uas_kept_away(const struct policy_input *in, char *ret, size_t size)
{
        const char *what = "uas is not loaded, and cannot be loaded";

        switch (in->f->uas_module) {
        case UAS_MODULE_BLACKLISTED:
                what = "uas is not loaded: modprobe.d blacklists it";
                break;
        case UAS_MODULE_INSTALL_LINE:
                what = "uas is not loaded: modprobe.d has an install line for it";
                break;
        case UAS_MODULE_MISSING:
                what = "this kernel has no module uas, or it is not installed";
                break;
        case UAS_MODULE_UNKNOWN:
        case UAS_MODULE_THERE:
        case UAS_MODULE_LOADABLE:
        case _UAS_MODULE_MAX:
                break;
        }
        (void) snprintf(ret, size, "%s", in->f->uas_kept_away ? what : "uas is loaded or can be");
}

/* A policy is older than the failure. A user who requests `switch` now knows of it. */
bool fits_trial_failed(const struct policy_input *in)
{
        return !in->override && in->wish == DRIVER_UAS && in->f->trial_failed;
}

void found_trial(const struct policy_input *in, char *ret, size_t size)
{
        const struct facts *f = in->f;
        char why[HISTORY_TEXT_MAX];

        if (f->trial_failed)
                (void) snprintf(ret, size, "its trial failed: %s", history_clause(f, why, sizeof(why)));
        else
                (void) snprintf(ret, size, "%s",
                                f->trial_open     ? "its trial is running"
                                : f->trial_passed ? "it passed its trial"
                                                  : "no trial has failed");
}

bool fits_distrusted(const struct policy_input *in)
{
        return in->f->distrusted;
}

void found_distrusted(const struct policy_input *in, char *ret, size_t size)
{
        char why[HISTORY_TEXT_MAX];

        (void) history_clause(in->f, why, sizeof(why));
        (void) snprintf(ret, size, "%s%s%s", in->f->distrusted ? "distrusted" : "no error is on record",
                        in->f->distrusted && *why ? ": " : "", in->f->distrusted ? why : "");
}
