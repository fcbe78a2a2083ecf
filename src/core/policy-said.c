/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/names.h"
#include "common/util.h"
#include "core/policy-table.h"

/* Of the decision table: who has said what the policy is. */

void found_policy(const struct look *l, char *ret, size_t size)
{
        const struct facts *f = l->f;
        const char *policy = policy_to_string(f->policy);

        (void) snprintf(ret, size, "the policy is %s%s%s", policy ? policy : "unknown", policy_source_clause(f->policy_source),
                        f->policy_forced ? ", forced" : "");
}

const char *policy_remedy(const struct look *l)
{
        bool uas = l->f->policy == POLICY_UAS;

        switch (l->f->policy_source) {
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
