/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "daemon/manager.h"
#include "sys/keepoff.h"
#include "sys/marks.h"
#include "sys/quirkparam.h"
#include "sys/statefile.h"

/* A bind is at work otherwise, and may take its time: there will be another occasion. */
#define LOCK_BUDGET (200 * USEC_PER_MSEC)

static bool called_for(struct manager *m, uint16_t vid, uint16_t pid)
{
        struct kept_disks kept;
        bool wanted;

        if (kept_disks_read(&m->roots, &m->config, NULL, &kept) < 0)
                return true; /* not known: it stays */
        wanted = keepoff_wanted(&kept, vid, pid);
        kept_disks_done(&kept);
        return wanted;
}

bool keepoff_review(struct manager *m, const struct facts *f)
{
        _cleanup_close_ int lock = -1;
        const char *entry = f->quirks_own;
        int r;

        if (!entry[0] || called_for(m, f->vid, f->pid))
                return false;
        lock = quirks_lock(&m->roots, now_boottime() + LOCK_BUDGET);
        if (lock < 0)
                return false;
        r = quirks_param_pop(&m->roots, entry);
        if (r >= 0 || r == -ENOENT)
                r = keepoff_disown(&m->roots, entry);
        if (r < 0)
                log_warning("our entry %s is still in the quirks parameter: %s", entry, strerror(-r));
        else
                log_info("took %s out of the quirks parameter: the initramfs put it there, and nothing calls for it any more", entry);
        return r >= 0;
}
