/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "common/util.h"
#include "core/keepoff.h"

struct entry;
struct manager;

/*
 * Entries in the quirks parameter for disks that belong on usb-storage, so that they never start on uas. If a bind is under way,
 * or usb_storage must be loaded first, uasd tries again later.
 */
struct keepoff_state {
        bool due;               /* the wanted entries may have changed */
        struct kept_disks kept; /* what configuration, policies, records and `seen` say */
        unsigned version;       /* of these files; 0: they must be read again */
        struct kept_disks seen; /* policies of all disks that were here since uasd began: they may come back */
        sd_event_source *timer; /* runs the next try after a failure */
        usec_t pause;           /* usec until that try; 0: the last one succeeded */
        sd_bus *pid1;           /* connection on which PID 1 is asked for usb_storage */
        char left_out[512];     /* the last report of disks for which the quirks have no room */
};

/* Called after a change of a policy, a history or a driver. If the entries change, all disks are read again. */
void keepoff_schedule(struct manager *m);
/*
 * The same, at once. came: a disk without an entry yet, or NULL. Returns true if they have changed: then all facts are from
 * before the change.
 */
bool keepoff_review(struct manager *m, const struct facts *came);
/*
 * Remembers the policy of a disk that is plugged in. Only the disk itself shows it: the configuration names no disk, and udev's
 * rules only this one.
 */
void keepoff_see(struct entry *e, const struct facts *now);
/* Drops the remembered policy of a disk. id: VID:PID:SERIAL */
void keepoff_forget(struct manager *m, const char *id);
