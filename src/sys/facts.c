/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/facts.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/keepoff.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"

void facts_judge(const struct roots *r, struct facts *f)
{
        struct db_entry entry;

        f->verdict = VERDICT_UNKNOWN;
        f->verdict_by_past = false;
        if (bridgedb_read(r, f->port, &entry) > 0) {
                char platform[PLATFORM_MAX];

                platform_read(r, platform);
                f->verdict = db_verdict(&entry, f->bcd, platform);
        }
        history_recall(r, f);
}

/* A kept policy goes before that of udev's rules, and that before the configuration. */
static void read_policy(const struct roots *r, const struct config *c, struct facts *f)
{
        char id[UDEVDB_ID_MAX], value[32];
        int v;

        f->policy = config_policy(c, f->vid, f->pid, f->serial);
        f->policy_source = f->policy != POLICY_AUTO ? POLICY_BY_CONFIG : POLICY_BY_NOBODY;
        f->policy_forced = false;
        if (udevdb_usb_id(r, f->port, id) && udevdb_property(r, id, PROP_POLICY, value, sizeof(value)) > 0 &&
            (v = policy_from_string(value)) >= 0) {
                f->policy = (enum policy) v;
                f->policy_source = POLICY_BY_UDEV;
        }
        if (policy_lookup(r, f, &f->policy, &f->policy_forced) > 0)
                f->policy_source = POLICY_BY_USER;
}

void facts_complete(const struct roots *r, const struct config *c, struct facts *f)
{
        struct attachment_mark a = {};

        if (attr_read(r->sys, SYSFS_QUIRKS, f->quirks, sizeof(f->quirks)) < 0)
                f->quirks[0] = '\0';
        keepoff_own(r, f->vid, f->pid, f->quirks_own);
        f->unknown_target = c->unknown_target;
        f->just_unbound = f->driver == DRIVER_NONE && switch_at_work(r, f->interface);
        read_policy(r, c, f);
        facts_judge(r, f);
        (void) attachment_read(r, f, &a);
        f->override_target = a.override_target;
        f->override_forced = a.override_forced;
}
