/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy-table.h"

#include "common/util.h"

/* The row of the module uas. */

/* Also for a disk that was brought to usb-storage for this very reason: else it would go round in circles. */
bool fits_uas_kept_away(const struct look *l)
{
        return l->f->uas_kept_away && l->f->driver != DRIVER_UAS;
}

void found_uas_kept_away(const struct look *l, char *ret, size_t size)
{
        const char *what = "uas is not loaded, and may not or cannot be";

        switch (l->f->uas_module) {
        case UAS_MODULE_BLACKLISTED:
                what = "uas is not loaded, and modprobe.d has it blacklisted";
                break;
        case UAS_MODULE_INSTALL_LINE:
                what = "uas is not loaded, and an install line in modprobe.d stands in its way";
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
        (void) snprintf(ret, size, "%s", l->f->uas_kept_away ? what : "uas is loaded or can be");
}
