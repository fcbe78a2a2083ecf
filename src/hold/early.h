/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/* The result of run_switch() if uasd-switch was killed. */
#define RUN_KILLED 1000 /* it did not end by itself in time */

/*
 * Runs uasd-switch and modprobe: run_switch() and run_modprobe(), except in tests. run_switch()
 * returns the exit code, RUN_KILLED or -errno; target DRIVER_NONE: --recover. Only the device of
 * the facts is moved, not one that has replaced it.
 */
struct runner {
        int (*run_switch)(const struct facts *f, enum driver target, usec_t deadline);
        void (*load)(const char *module);
};

/*
 * Handles udev's event of a USB interface: moves it, if that is possible so early. udev waits
 * meanwhile, with all later events of it. In the root file system this is only for coldplug, and
 * for a disk that has passed its trial and that udev has not announced yet. Returns 1 if
 * uasd-switch was run, 0, or -errno.
 */
int early_interface(const struct roots *roots, const char *interface, const struct runner *run);

/* Called when the initramfs waits for a device: ends all holds there. Returns 0 or -errno. */
int early_let_go(const struct roots *roots);

/* run.c */
int run_switch(const struct facts *f, enum driver target, usec_t deadline);
void run_modprobe(const char *module);
#define TIMER_BUDGET (9 * USEC_PER_SEC) /* PID 1 starts the dead man's timer */

/* ---- settle.c ---- */

/*
 * Waits until no disk with both protocols is about to be moved. In the initramfs, before root is
 * mounted: until udev has processed each interface. Returns 1 if one was tried there, so that its
 * events are still to come. In the root file system, for programs that import disks without a look
 * at holds: until no disk is held or switched, and udev has announced each. Returns 0, -ETIMEDOUT,
 * or another -errno.
 */
#define SETTLE_BUDGET (30 * USEC_PER_SEC)      /* before root is mounted */
#define SETTLE_BOOT_BUDGET (60 * USEC_PER_SEC) /* no hold of a boot is longer: half of 90 s */
int hold_settle(const struct roots *roots, usec_t budget);

/* ---- quirks.c ---- */

/*
 * Keeps disks off uas in the initramfs of `kernel`, which is built in `dir`, before a driver sees
 * them. These are the disks that belong on usb-storage by policy or distrust. etc/modprobe.d gets
 * the whole parameter, etc/uasd/quirks our part of it.
 */
int hold_quirks(const struct roots *roots, const char *kernel, const char *dir);
