/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/hold.h"

#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "core/policy.h"
#include "sys/facts.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/state/conf.h"
#include "sys/state/switch-record.h"
#include "sys/state/trims.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/users.h"

#define OFF "full" /* sd's name for a fully provisioned disk */
#define ON "unmap"

/* udev's record disappears with the block device, so a disk that comes back is new, on either driver. */
static bool set_before(const struct roots *r, const struct block *b)
{
        char id[32], set[8];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        return udevdb_property(r, id, PROP_TRIM_SET, set, sizeof(set)) > 0 && streq(set, "1");
}

void trim_ask(const struct roots *r, const struct usb_disk *d, const struct lun *l, struct trim_answer *ret)
{
        struct trim_answer a = {};
        char now[TRIM_MODE_MAX];
        uint64_t max = 0;

        *ret = a;
        /* TRIM is not needed in an initramfs, and the root file system's udev asks again. */
        if (in_initramfs(r) || cmdline_has(r, CMDLINE_OFF))
                return;
        a.on = trims_lookup(r, &d->facts, l->lun, &max) > 0;
        a.set = set_before(r, &l->disk);
        if (!a.on && !a.set)
                return;
        trim_read_mode(r, l->disk.name, now);
        if (a.on && streq(now, OFF)) {
                a.mode = ON;
                a.max_bytes = max;
                a.set = true;
        } else if (!a.on) {
                a.mode = streq(now, ON) ? OFF : NULL;
                a.set = false;
        }
        *ret = a;
}

/* The state of a block device instance that PID 1 has seen. udev's record disappears with the instance. */
enum told {
        TOLD_NOTHING,
        TOLD_HELD,
        TOLD_READY,
};

static enum told told(const struct roots *r, const struct block *b)
{
        _cleanup_free_ char *record = NULL;
        char id[32], hold[8];

        (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        record = udevdb_read(r, id);
        if (!udevdb_has_tag(record, "systemd"))
                return TOLD_NOTHING;
        return udevdb_get(record, PROP_HOLD, hold, sizeof(hold)) > 0 && streq(hold, "1") ? TOLD_HELD : TOLD_READY;
}

/* Returns true if `fn` is true for a disk or partition. */
static bool any_block(const struct usb_disk *d, bool (*fn)(const struct roots *r, const struct block *b), const struct roots *r)
{
        for (size_t i = 0; i < d->n_luns; i++) {
                if (!d->luns[i].disk.name[0])
                        continue;
                if (fn(r, &d->luns[i].disk))
                        return true;
                for (size_t p = 0; p < d->luns[i].n_parts; p++)
                        if (fn(r, &d->luns[i].parts[p]))
                                return true;
        }
        return false;
}

static bool told_anything(const struct roots *r, const struct block *b)
{
        return told(r, b) != TOLD_NOTHING;
}

static bool told_held(const struct roots *r, const struct block *b)
{
        return told(r, b) == TOLD_HELD;
}

static const struct block *find_block(const struct usb_disk *d, const char *name)
{
        for (size_t i = 0; i < d->n_luns; i++) {
                if (streq(d->luns[i].disk.name, name))
                        return &d->luns[i].disk;
                for (size_t p = 0; p < d->luns[i].n_parts; p++)
                        if (streq(d->luns[i].parts[p].name, name))
                                return &d->luns[i].parts[p];
        }
        return NULL;
}

/*
 * Policy depends on the serial, and one of the kernel's rules on names. Reading the attributes takes the device lock, and a disk
 * that hangs would hang udev. So they come from udev's record of the USB device.
 */
void strings_from_udev(const struct roots *r, struct facts *f)
{
        const struct {
                const char *key;
                char *to;
        } strings[] = {
                {"ID_SERIAL_SHORT", f->serial},
                {"ID_VENDOR_ENC", f->manufacturer},
                {"ID_MODEL_ENC", f->product},
        };
        _cleanup_free_ char *record = NULL;
        char id[UDEVDB_ID_MAX];

        if (!udevdb_usb_id(r, f->port, id))
                return;
        record = udevdb_read(r, id);
        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                if (udevdb_get(record, strings[i].key, strings[i].to, USB_STRING_MAX) > 0)
                        unescape(strings[i].to);
                else
                        strings[i].to[0] = '\0';
        }
}

static bool adds_disk(const struct block_event *e)
{
        return e->action && streq(e->action, "add") && e->devtype && streq(e->devtype, "disk");
}

bool hold_forbidden(const struct roots *r)
{
        return cmdline_has(r, CMDLINE_OFF) || cmdline_has(r, CMDLINE_NO_HOLD);
}

bool hold_untouched(const struct roots *r, const struct usb_disk *d)
{
        struct hold_mark before;
        int k;

        if (!attachment_fresh(r, &d->facts))
                return false;
        k = hold_read(r, d->facts.interface, &before);
        if (k < 0 || (k > 0 && before.busnum == d->facts.busnum && before.devnum == d->facts.devnum))
                return false; /* it was held before */
        return !any_block(d, told_anything, r) && users_any(r, d->luns, d->n_luns) == 0;
}

/* The timer comes first: without a timer there is no hold. It fires when the mark has expired, never before. */
static bool begin(const struct roots *r, const struct facts *f, const struct hold_limits *l, const struct hold_means *means)
{
        struct hold_mark m = {
                .busnum = f->busnum,
                .devnum = f->devnum,
                .deadline = now_boottime() + l->hold,
        };

        return means->arm(f->interface) >= 0 && hold_write(r, f->interface, &m) >= 0;
}

/* Returns true if the configuration allows holds. */
static bool load(const struct roots *r, const struct hold_means *m, struct config *ret)
{
        config_init(ret);
        return m->load(r, ret, NULL, NULL) >= 0 && ret->hold_usec > 0;
}

/* Only here policy and configuration count, so an event that cannot begin a hold reads neither. */
static bool wants_hold(const struct roots *r, const struct hold_means *m, struct facts *f)
{
        _cleanup_(config_done) struct config c;
        struct decision decision;

        if (!load(r, m, &c))
                return false;
        facts_complete(r, &c, f);
        decide(f, &decision);
        return decision_wants_switch(f, &decision);
}

/*
 * The initramfs has no PID 1 that could keep a timer, so a hold leaves nothing behind there: it is decided again at every event.
 * It ends when the initramfs waits for a device (early_let_go()), and in any case with the initramfs. In the root file system
 * every device gets `add` again, and a hold begins there with its timer or not at all.
 */
static bool held_in_initramfs(const struct roots *r, struct usb_disk *d, const struct hold_means *m)
{
        return faccessat(r->run, RUN_WAITED_FOR, F_OK, 0) < 0 && errno == ENOENT && attachment_fresh(r, &d->facts) &&
               users_any(r, d->luns, d->n_luns) == 0 && wants_hold(r, m, &d->facts);
}

/*
 * A hold begins on the first `add` of the first disk, or not at all. If PID 1 knows a device as ready and then sees it held, it
 * unmounts it (H1, H2). And users from the initramfs may still use the disk (H4, H5). So no hold can begin because of the
 * installation of the package, `udevadm trigger`, or a restart of udevd or PID 1.
 */
static bool held(const struct roots *r, const struct block_event *e, struct usb_disk *d, const struct hold_means *m)
{
        const struct block *this = find_block(d, e->block);
        struct hold_limits limits;

        if (!this || told(r, this) == TOLD_READY || hold_forbidden(r))
                return false;
        if (in_initramfs(r))
                return held_in_initramfs(r, d, m);
        if (adds_disk(e) && attachment_fresh(r, &d->facts) && limits_read(r, &limits) >= 0 && hold_untouched(r, d) &&
            wants_hold(r, m, &d->facts) && begin(r, &d->facts, &limits, m))
                return true;
        /* It began before, perhaps just now by the event of another LUN. */
        return hold_in_force(r, &d->facts, now_boottime(), NULL);
}

/*
 * If uasd-switch has just moved a disk, its first event waits until it has been tried. So all programs see the disk only once, in
 * its final state. A disk that PID 1 already knows does not wait.
 */
static bool waited(const struct roots *r, const struct block_event *e, const struct usb_disk *d, const struct hold_means *m)
{
        const struct block *this = find_block(d, e->block);
        usec_t deadline, now = now_boottime(), wait = AWAIT_USEC;
        _cleanup_(config_done) struct config c;

        config_init(&c);
        if (!adds_disk(e) || !this || !switch_awaited(r, d->facts.interface) || hold_forbidden(r) ||
            told(r, this) != TOLD_NOTHING || !load(r, m, &c))
                return false;
        if (hold_in_force(r, &d->facts, now, &deadline) && deadline - now < wait)
                wait = deadline - now;
        (void) switch_await(r, d->facts.interface, awake_in(wait));
        return true;
}

int hold_ask(const struct roots *r, const struct block_event *e, const struct hold_means *m, struct hold_answer *ret)
{
        struct attachment_mark a = {.override_target = DRIVER_NONE};
        struct hold_answer answer = {.verdict = VERDICT_UNKNOWN};
        char interface[INTERFACE_NAME_MAX];
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        int k;

        k = usb_disk_of_block(r, e->block, interface);
        if (k < 0)
                return k;
        k = usb_disk_read(r, interface, false, &d);
        if (k > 0 && waited(r, e, &d, m)) {
                usb_disk_done(&d);
                k = usb_disk_read(r, interface, false, &d);
        }
        if (k <= 0)
                return k < 0 ? k : -ENODEV;
        strings_from_udev(r, &d.facts);
        facts_judge(r, &d.facts);
        answer.capable = d.facts.caps_error == 0 && d.facts.caps.bot && d.facts.caps.uas && d.facts.caps.pipes;
        answer.verdict = d.facts.verdict;
        answer.no_auto = attachment_read(r, &d.facts, &a) >= 0 && a.no_auto;

        for (size_t i = 0; i < d.n_luns; i++)
                if (streq(d.luns[i].disk.name, e->block))
                        trim_ask(r, &d, d.luns + i, &answer.trim);

        answer.hold = answer.capable && held(r, e, &d, m);
        *ret = answer;
        return 0;
}

/*
 * If uasd-switch was stopped between the two drivers, the kernel chooses a driver for the disk, so that the programs that wait
 * for it get it. Without its record that uasd-switch ends as soon as it wakes up.
 */
void hold_rescue(const struct roots *r, const struct facts *f)
{
        if (f->driver != DRIVER_NONE || !switch_recorded(r, f->interface))
                return;
        (void) switch_record_remove(r, f->interface);
        (void) attr_write(r->sys, SYSFS_DRIVERS_PROBE, f->interface);
}

int hold_end(const struct roots *r, const char *interface, bool *ret_expired)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {0};
        struct hold_mark m;
        bool marked, expired = false;
        int k;

        if (!interface_name_valid(interface))
                return -EINVAL;
        k = usb_disk_read(r, interface, false, &d);
        if (k == -ENODEV || k == 0)
                return hold_remove(r, interface);
        if (k < 0)
                return k;
        marked = hold_read(r, interface, &m) > 0 && m.busnum == d.facts.busnum && m.devnum == d.facts.devnum;
        if (marked)
                expired = m.deadline <= now_boottime();
        /* The mark may be lost, or a process may have removed it and died before the trigger. That must not keep the disk. */
        else if (!any_block(&d, told_held, r))
                return 0;

        k = hold_release(r, &d.facts);
        /* Even if that failed: a mark holds nothing after its deadline, or if it cannot be read. */
        if (k < 0 && hold_in_force(r, &d.facts, now_boottime(), NULL))
                return k;
        hold_rescue(r, &d.facts);
        k = trigger_add(r, d.luns, d.n_luns);
        if (k < 0 && k != -ENOENT && k != -ENODEV)
                return k;
        if (ret_expired)
                *ret_expired = expired;
        return 1;
}
