/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "common/util.h"
#include "core/types.h"
#include "sys/io/roots.h"

/* How uasd-switch ended, for those who run it. */
#define RUN_KILLED 1000 /* it did not end by itself in time */

/*
 * Runs uasd-switch, and modprobe: run_switch() and run_modprobe() but for tests. The first returns its exit code,
 * RUN_KILLED or -errno; target DRIVER_NONE: --recover.
 */
struct runner {
        int (*run_switch)(const char *interface, enum driver target, usec_t deadline);
        void (*load)(const char *module);
};

/*
 * What is done to a USB interface in udev's event of it, while udev waits with all that is behind it: it is moved, if that may
 * be done so early. In the root file system that is for a disk that has passed its trial, and that nobody was told of yet:
 * coldplug. Returns 1 if uasd-switch was run, 0, or -errno.
 */
int early_interface(const struct roots *r, const char *interface, const struct runner *run);

/* Somebody in the initramfs waits for a device: nothing is held there any more. Returns 0 or -errno. */
int early_let_go(const struct roots *r);

/* run.c */
int run_switch(const char *interface, enum driver target, usec_t deadline);
void run_modprobe(const char *module);
