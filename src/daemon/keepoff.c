/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/util.h"
#include "daemon/manager.h"
#include "sys/keepoff.h"
#include "sys/marks.h"

/* A bind is at work otherwise, and may take its time: there will be another occasion. */
#define LOCK_BUDGET (200 * USEC_PER_MSEC)

/* Told when it changes: there is an occasion for every disk that comes. */
static void tell_left_out(struct manager *m, const struct keepoff *made)
{
        char told[sizeof(m->left_out)] = "";
        size_t n = 0;

        for (size_t i = 0; i < made->n_left_out && n < sizeof(told); i++)
                n += (size_t) snprintf(told + n, sizeof(told) - n, "%s ", made->left_out_disks[i]);
        if (streq(told, m->left_out))
                return;
        memcpy(m->left_out, told, sizeof(told));
        for (size_t i = 0; i < made->n_left_out; i++)
                log_warning("The quirks of usb-storage, 127 characters at most, have no room for %s: %s may start on uas.",
                            made->left_out[i], made->left_out_disks[i]);
}

bool keepoff_review(struct manager *m)
{
        _cleanup_(kept_disks_done) struct kept_disks kept = {};
        _cleanup_(keepoff_done) struct keepoff made = {};
        int r;

        if (!m->keepoff_due)
                return false;
        r = kept_disks_read(&m->roots, &m->config, NULL, &kept);
        if (r >= 0)
                r = keepoff_apply(&m->roots, &kept, m->env.booted, now_boottime() + LOCK_BUDGET, &made);
        if (r == -ENOENT || r == -ETIMEDOUT)
                return false;
        m->keepoff_due = false;
        if (r < 0) {
                log_warning("the quirks of usb-storage do not keep off uas what is wanted on usb-storage: %s", strerror(-r));
                return false;
        }
        tell_left_out(m, &made);
        if (r > 0)
                log_info("kept off uas by the quirks of usb-storage: %s", made.own[0] ? made.own : "nothing any more");
        return r > 0;
}
