/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/names.h"
#include "sys/conf.h"
#include "sys/marks.h"
#include "sys/pid1.h"
#include "sys/trigger.h"
#include "switch/transaction.h"

void hold_begin(struct transaction *t)
{
        struct facts *f = &t->disk.facts;
        struct attachment_mark a = { .override_target = DRIVER_NONE };
        sd_bus *pid1 = NULL;

        /* Written before the bind: the rule never begins a hold of its own on this attachment again. */
        if (attachment_read(&t->roots, f, &a) >= 0) {
                a.tried = a.tried || t->automatic;
                a.no_auto = a.no_auto || !t->plugged;
                (void) attachment_write(&t->roots, f, &a);
        }
        if (t->hold_deadline) {
                t->holding = true;
                return;
        }
        /* No timer, no hold: without PID 1 nobody mounts behind our back either. */
        if (t->config.hold_usec == 0 || cmdline_has(&t->roots, CMDLINE_NO_HOLD) || pid1_open(&pid1) < 0)
                return;
        if (pid1_arm_release(pid1, t->interface) >= 0) {
                uint64_t usec = t->config.hold_usec < HOLD_MAX_USEC ? t->config.hold_usec : HOLD_MAX_USEC;
                struct hold_mark m = { f->busnum, f->devnum, now_boottime() + usec };

                /* A mark of "released" is of an earlier hold on this attachment: this one is ours, and short. */
                if (a.released) {
                        a.released = false;
                        (void) attachment_write(&t->roots, f, &a);
                }
                t->holding = hold_write(&t->roots, t->interface, &m) >= 0;
                /* A boot, or whoever plugged it in, waits for this disk: its time is that of the hold. */
                if (t->holding && t->plugged)
                        t->hold_deadline = m.deadline;
        }
        sd_bus_flush_close_unref(pid1);
}

void hold_end(struct transaction *t)
{
        struct usb_disk now = { 0 };

        if (!t->holding && !t->hold_deadline)
                return;
        (void) hold_release(&t->roots, &t->disk.facts);
        t->holding = false;
        t->hold_deadline = 0;
        if (!t->no_udev && usb_disk_read(&t->roots, t->interface, false, &now) > 0) {
                (void) trigger_add(&t->roots, now.luns, now.n_luns);
                usb_disk_done(&now);
        }
}
