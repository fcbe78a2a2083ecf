/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/param.h"

/* Keeps the entries in the parameter of the running kernel. */

static int own_write(const struct roots *r, const char *own)
{
        char text[QUIRKS_MAX + 64];

        (void) snprintf(text, sizeof(text), KEY_QUIRKS "=%s\n" KEY_PARAMETER "=%" PRIu64 "\n", own, quirks_param_inode(r));
        return state_write(r->run, RUN_QUIRKS, text, false);
}

/* From the last to the first, since each is put before the others. */
static int each_entry(const struct roots *r, char *entries, int (*fn)(const struct roots *, const char *))
{
        int n = 0, k = 0;

        while (*entries && k >= 0) {
                char *last = strrchr(entries, ',');

                k = fn(r, last ? last + 1 : entries);
                *(last ? last : entries) = '\0';
                n++;
        }
        return k < 0 ? k : n;
}

int keepoff_apply(const struct roots *r, const struct kept_disks *kept, bool known, struct keepoff *ret)
{
        _cleanup_close_ int lock = quirks_lock(r, 0);
        _cleanup_(keepoff_done) struct keepoff made = {};
        char now[QUIRKS_MAX + 1], own[QUIRKS_MAX + 1], others[QUIRKS_MAX + 1], stale[QUIRKS_MAX + 1], missing[QUIRKS_MAX + 1];
        bool on_record;
        int k, out = 0, in = 0;

        if (lock < 0)
                return lock;
        k = quirks_param_read(r, now);
        if (k < 0)
                return k;
        on_record = keepoff_own_all(r, own);
        quirks_without(now, known ? own : "", others);
        k = keepoff_entries(kept, others, false, &made);
        if (k < 0)
                return k;
        quirks_without(own, made.own, stale);
        quirks_without(made.own, now, missing);
        if (!known) { /* facts that are not known yet may need these entries */
                if (stale[0] && quirks_prepend(made.own, stale, made.own) < 0)
                        return -ENOSPC;
                stale[0] = '\0';
        }
        /* If uasd is killed in here, the list on record still names all of our entries in the parameter. */
        k = out = each_entry(r, stale, quirks_param_pop);
        if (k >= 0 && (!streq(own, made.own) || !on_record))
                k = own_write(r, made.own);
        if (k >= 0)
                k = in = each_entry(r, missing, quirks_param_push);
        if (k < 0)
                return k;
        *ret = made;
        made = (struct keepoff){};
        return out + in > 0;
}
