/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

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
