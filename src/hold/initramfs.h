/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "core/types.h"
#include "sys/roots.h"

/* How uasd-switch ended, for those who run it. */
#define RUN_KILLED 1000 /* it did not end by itself in time */

/*
 * Runs uasd-switch, and modprobe: run_switch() and run_modprobe() but for tests. The first returns its exit code,
 * RUN_KILLED or -errno; target DRIVER_NONE: --recover.
 */
struct runner {
        int (*run_switch)(const char *interface, enum driver target, uint64_t deadline);
        void (*load)(const char *module);
};

/*
 * What is done to a USB interface in the initramfs while udev waits with all that is behind it: it is moved, if that may be
 * done so early. Returns 1 if uasd-switch was run, 0, or -errno.
 */
int initramfs_interface(const struct roots *r, const char *interface, const struct runner *run);

/* Somebody in the initramfs waits for a device: nothing is held there any more. Returns 0 or -errno. */
int initramfs_let_go(const struct roots *r);

/* run.c */
int run_switch(const char *interface, enum driver target, uint64_t deadline);
void run_modprobe(const char *module);
