/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/early.h"

#include <fcntl.h>
#include <sys/param.h>

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "core/policy.h"
#include "hold/hold.h"
#include "sys/facts.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

/* Limit for modprobe, a switch and its undo: the initramfs waits half a minute for its root, also
 * if the disk fails under uas. */
#define EARLY_BUDGET (15 * USEC_PER_SEC)
#define RECOVER_BUDGET (5 * USEC_PER_SEC)

static int early_read_disk(const struct roots *roots, const char *interface, const struct config *c,
                           struct usb_disk *ret)
{
        int r = usb_disk_read(roots, interface, false, ret);

        if (r <= 0)
                return r;
        strings_from_udev(roots, &ret->facts);
        facts_complete(roots, c, &ret->facts);
        return 1;
}

static bool early_disk_is_there(const struct roots *roots, const char *interface)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};

        return usb_disk_read(roots, interface, false, &d) > 0 && d.n_luns > 0;
}

static int early_move(const struct roots *roots, const struct usb_disk *d, enum driver target,
                      usec_t deadline, const struct runner *run)
{
        const char *interface = d->facts.interface;
        bool early = d->n_luns == 0;
        int r = run->run_switch(&d->facts, target, deadline);

        /* Its delay_use has ended meanwhile. udev waits for this process, so no other process has
         * the disk yet. */
        if (r == UASD_EXIT_DEFERRED && early && early_disk_is_there(roots, interface))
                r = run->run_switch(&d->facts, target, deadline);
        if (r < 0) {
                _cleanup_(usb_disk_done) struct usb_disk now = {0};

                (void) run->run_switch(&d->facts, DRIVER_NONE, now_boottime() + RECOVER_BUDGET);
                if (usb_disk_read(roots, interface, false, &now) > 0)
                        hold_rescue(roots, &now.facts);
        }
        return 1;
}

/* Returns true if a boot has time for a switch in the root file system's coldplug, and udev has not
 * announced the disk yet. */
static bool early_fits_coldplug(const struct roots *roots, const struct usb_disk *d, usec_t *budget)
{
        struct hold_limits l;

        if (limits_read(roots, &l) < 0)
                return false;
        *budget = MIN(*budget, l.hold);
        /* A boot cannot have waited for its devices longer than the machine runs. */
        return now_boottime() + *budget + RECOVER_BUDGET + MARGIN_USEC <= l.device_timeout &&
               hold_untouched(roots, d);
}

int early_interface(const struct roots *roots, const char *interface, const struct runner *run)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        _cleanup_(config_done) struct config c;
        struct decision decision;
        bool initramfs = in_initramfs(roots);
        usec_t budget = EARLY_BUDGET, deadline;
        int r;

        config_init(&c);
        if (hold_forbidden(roots))
                return 0;
        r = conf_load(roots, &c, NULL, NULL);
        if (r < 0)
                return r;
        r = early_read_disk(roots, interface, &c, &d);
        if (r <= 0)
                return r;
        if (c.hold_usec == 0 || !attachment_fresh(roots, &d.facts))
                return 0;
        decide(&d.facts, &decision);
        budget = MIN(budget, c.hold_usec);
        if (!decision_fits_early(&d.facts, &decision, initramfs) ||
            (!initramfs && !early_fits_coldplug(roots, &d, &budget)))
                return 0;
        /* The boot waits for modprobe as well. */
        deadline = now_boottime() + budget;
        if (d.facts.driver == DRIVER_NONE) {
                /* usb-storage is loaded before udev loads uas, so uas never sees a disk that
                 * belongs to usb-storage. */
                run->load("usb-storage");
                usb_disk_done(&d);
                r = early_read_disk(roots, interface, &c, &d);
                if (r <= 0)
                        return r;
                if (d.facts.driver == decision.target)
                        return 0;
        }
        /* udev would load it at the event of the SCSI device. But uasd-switch waits for the block
         * device before that. */
        run->load("sd_mod");
        return early_move(roots, &d, decision.target, deadline, run);
}

int early_let_go(const struct roots *roots)
{
        _cleanup_strv_ char **interfaces = NULL;
        int n, r;

        if (!in_initramfs(roots))
                return 0;
        if (faccessat(roots->run, RUN_WAITED_FOR, F_OK, 0) == 0)
                return 0;
        r = state_write(roots->run, RUN_WAITED_FOR, "", false);
        if (r < 0)
                return r;
        n = usb_disk_enumerate(roots, &interfaces);
        for (int i = 0; i < n; i++) {
                _cleanup_(usb_disk_done) struct usb_disk d = {0};

                if (usb_disk_read(roots, interfaces[i], false, &d) > 0 && d.facts.caps.uas)
                        (void) trigger_add(roots, d.luns, d.n_luns);
        }
        return n < 0 ? n : 0;
}
