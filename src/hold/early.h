/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * Runs uasd-switch and modprobe: run_switch() and run_modprobe(), except in tests. run_switch()
 * returns the exit code, -ETIMEDOUT or -ECANCELED if uasd-switch was killed, or another -errno;
 * target DRIVER_NONE: --recover. Only the device of the facts is moved, not one that has replaced
 * it.
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
