/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/facts.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/keepoff.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/policies.h"
#include "sys/state/switch-record.h"
#include "sys/udev/bridgedb.h"
#include "sys/udev/udevdb.h"

/* Reads the properties that udev rules and the hwdb set for the USB device. */
static void ask_udev(const struct roots *r, struct facts *f)
{
        char id[UDEVDB_ID_MAX], value[32], platform[PLATFORM_MAX];
        struct db_entry entry;
        int v;

        if (!udevdb_usb_id(r, f->port, id))
                return;
        if (udevdb_property(r, id, PROP_POLICY, value, sizeof(value)) > 0 && (v = policy_from_string(value)) >= 0) {
                f->policy = (enum policy) v;
                f->policy_source = POLICY_BY_UDEV;
        }
        if (bridgedb_read(r, f->port, &entry) > 0) {
                platform_read(r, platform);
                f->verdict = db_verdict(&entry, f->bcd, platform);
        }
}

void facts_complete(const struct roots *r, const struct config *c, struct facts *f)
{
        struct attachment_mark a = {};

        if (attr_read(r->sys, SYSFS_QUIRKS, f->quirks, sizeof(f->quirks)) < 0)
                f->quirks[0] = '\0';
        keepoff_own(r, f->vid, f->pid, f->quirks_own);
        f->unknown_target = c->unknown_target;

        f->just_unbound = f->driver == DRIVER_NONE && switch_at_work(r, f->interface);

        /* Kept policy goes before udev's, and that before the configuration. */
        f->policy = config_policy(c, f->vid, f->pid, f->serial);
        f->policy_source = f->policy != POLICY_AUTO ? POLICY_BY_CONFIG : POLICY_BY_NOBODY;
        f->policy_forced = false;
        f->verdict = VERDICT_UNKNOWN;
        f->verdict_by_past = false;
        ask_udev(r, f);
        if (policy_lookup(r, f, &f->policy, &f->policy_forced) > 0)
                f->policy_source = POLICY_BY_USER;

        history_recall(r, f);
        (void) attachment_read(r, f, &a);
        f->override_target = a.override_target;
        f->override_forced = a.override_forced;
}
