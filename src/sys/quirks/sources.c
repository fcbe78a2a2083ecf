/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/sources.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/modprobed.h"
#include "sys/quirks/param.h"

int quirk_facts_read(const struct roots *r, struct quirk_facts *ret)
{
        struct quirk_facts q = {.parameter = ""};
        int k = modprobe_quirk_lines(r, &q.lines);

        if (k < 0)
                return k;
        if (quirks_param_read(r, q.parameter) < 0)
                q.parameter[0] = '\0';
        /* Code in the kernel image has parameters, but no module state. */
        q.built_in = faccessat(r->sys, SYSFS_QUIRKS, F_OK, 0) == 0 && faccessat(r->sys, SYSFS_STORAGE_STATE, F_OK, 0) < 0;
        keepoff_own_all(r, q.own_kept);
        (void) quirks_bind_read(r, q.own_now);
        *ret = q;
        return 0;
}
