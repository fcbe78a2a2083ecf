/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The answer of uasd-hold to the events of a known disk. It reads neither configuration nor
 * policies, and writes nothing. */
#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "hold/hold.h"
#include "sys/facts.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/platform/off.h"
#include "sys/state/attachment.h"
#include "sys/state/settings.h"
#include "sys/state/switch-record.h"
#include "sys/state/trims.h"
#include "sys/udev/udevdb.h"

#define OFF "full" /* sd's name for a fully provisioned disk */
#define ON "unmap"

/* udev's record disappears with the block device, so a disk that comes back is new, on either
 * driver. */
static bool trim_set_before(const struct roots *roots, const struct block *b)
{
        char id[32], set[8];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        return udevdb_property(roots, id, PROP_TRIM_SET, set, sizeof(set)) > 0 && streq(set, "1");
}

void trim_ask(const struct roots *roots, const struct usb_disk *d, const struct lun *l,
              struct trim_answer *ret)
{
        struct trim_answer a = {};
        char now[TRIM_MODE_MAX];
        uint64_t max;

        *ret = a;
        /* TRIM is not needed in an initramfs, and the root file system's udev asks again. */
        if (in_initramfs(roots) || cmdline_has(roots, CMDLINE_OFF))
                return;
        a.on = trims_lookup(roots, &d->facts, l->lun, l->disk.name, &max) == TRIM_KEPT;
        a.set = trim_set_before(roots, &l->disk);
        if (!a.on && !a.set)
                return;
        trim_read_mode(roots, l->disk.name, now);
        if (a.on && streq(now, OFF)) {
                a.mode = ON;
                a.max_bytes = max;
                a.set = true;
        } else if (!a.on) {
                if (streq(now, ON))
                        a.mode = OFF;
                a.set = false;
        }
        *ret = a;
}

enum known_as block_known_as(const struct roots *roots, const struct block *b)
{
        _cleanup_free_ char *record = NULL;
        char id[32], hold[8];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        record = udevdb_read(roots, id);
        if (!udevdb_has_tag(record, "systemd"))
                return KNOWN_AS_NOTHING;
        if (udevdb_get(record, PROP_HOLD, hold, sizeof(hold)) > 0 && streq(hold, "1"))
                return KNOWN_AS_HELD;
        return KNOWN_AS_READY;
}

/*
 * Policy depends on the serial, and one of the kernel's rules on names. Reading the attributes
 * takes the device lock, and a disk that hangs would hang udev. So they come from udev's record of
 * the USB device. There the serial is as serial_normalize() makes it, and not escaped.
 */
void strings_from_udev(const struct roots *roots, struct facts *f)
{
        const struct {
                const char *key;
                char *to;
                bool escaped;
        } strings[] = {
                {"ID_SERIAL_SHORT", f->serial},
                {"ID_VENDOR_ENC", f->manufacturer, true},
                {"ID_MODEL_ENC", f->product, true},
        };
        _cleanup_free_ char *record = NULL;
        char id[UDEVDB_ID_MAX];

        if (!udevdb_usb_id(roots, f->port, id))
                return;
        record = udevdb_read(roots, id);
        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                if (udevdb_get(record, strings[i].key, strings[i].to, USB_STRING_MAX) <= 0)
                        strings[i].to[0] = '\0';
                else if (strings[i].escaped)
                        unescape(strings[i].to);
        }
}

static bool event_adds_disk(const struct block_event *e)
{
        return e->action && streq(e->action, "add") && e->devtype && streq(e->devtype, "disk");
}

bool hold_forbidden(const struct roots *roots)
{
        return cmdline_has(roots, CMDLINE_NO_HOLD) || uasd_off(roots);
}

/*
 * If uasd-switch has just moved a disk, its first event waits until it has been tried. So all
 * programs see the disk only once, in its final state. A disk that PID 1 already knows does not
 * wait.
 */
static bool event_must_wait(const struct roots *roots, const struct block_event *e,
                            const struct usb_disk *d)
{
        const struct block *this = luns_find(d->luns, d->n_luns, e->block);

        return event_adds_disk(e) && this && switch_awaited(roots, d->facts.interface) &&
               !hold_forbidden(roots) && block_known_as(roots, this) == KNOWN_AS_NOTHING;
}

/*
 * A hold begins on the first `add` of the first disk, or not at all. If PID 1 knows a device as
 * ready and then sees it held, it unmounts it (H1, H2). And users from the initramfs may still use
 * the disk (H4, H5). So no hold can begin because of the installation of the package, `udevadm
 * trigger`, or a restart of udevd or PID 1.
 *
 * The initramfs has no PID 1 that could keep a timer, so a hold leaves nothing behind there: it is
 * decided again at every event. It ends when the initramfs waits for a device (early_let_go()), and
 * in any case with the initramfs.
 */
static enum hold_open hold_open_part(const struct roots *roots, const struct block_event *e,
                                     const struct usb_disk *d, bool *ret)
{
        const struct block *this = luns_find(d->luns, d->n_luns, e->block);

        if (!this || block_known_as(roots, this) == KNOWN_AS_READY || hold_forbidden(roots))
                return HOLD_ANSWERED;
        if (in_initramfs(roots)) {
                if (faccessat(roots->run, RUN_WAITED_FOR, F_OK, 0) < 0 && errno == ENOENT &&
                    attachment_fresh(roots, &d->facts))
                        return HOLD_MAY_BEGIN;
                return HOLD_ANSWERED;
        }
        if (event_adds_disk(e) && attachment_fresh(roots, &d->facts))
                return HOLD_MAY_BEGIN;
        /* It began before, perhaps just now by the event of another LUN. */
        *ret = hold_in_force(roots, &d->facts, now_boottime(), NULL);
        return HOLD_ANSWERED;
}

int hold_ask(const struct roots *roots, const struct block_event *e, bool waited,
             struct usb_disk *d, struct hold_answer *ret)
{
        struct attachment_mark a = {};
        struct hold_answer answer = {.verdict = VERDICT_UNKNOWN};
        char interface[INTERFACE_NAME_MAX];
        enum hold_open open = HOLD_ANSWERED;
        int r;

        r = usb_disk_of_block(roots, e->block, interface);
        if (r < 0)
                return r;
        r = usb_disk_read(roots, interface, false, d);
        if (r < 0)
                return r;
        if (r == 0)
                return -ENODEV;
        if (!waited && event_must_wait(roots, e, d))
                return HOLD_MUST_WAIT;
        strings_from_udev(roots, &d->facts);
        facts_judge(roots, &d->facts);
        answer.capable =
                d->facts.caps_error == 0 && d->facts.caps.bot && facts_offer_uas(&d->facts);
        answer.verdict = d->facts.verdict;
        (void) attachment_read(roots, &d->facts, &a);
        answer.no_auto = a.no_auto;

        for (size_t i = 0; i < d->n_luns; i++)
                if (streq(d->luns[i].disk.name, e->block))
                        trim_ask(roots, d, d->luns + i, &answer.trim);

        if (answer.capable)
                open = hold_open_part(roots, e, d, &answer.hold);
        *ret = answer;
        return open;
}
