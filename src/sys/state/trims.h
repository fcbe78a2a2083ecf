/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "core/trim.h"
#include "sys/io/roots.h"

/* Reads the TRIM facts of a block device from sysfs, all but `kept`. A missing attribute is unknown. */
void trim_read(const struct roots *r, const char *block, struct trim_facts *ret);
/* Reads only provisioning_mode, which does not lock the queue of the disk. */
void trim_read_mode(const struct roots *r, const char *block, char ret[static TRIM_MODE_MAX]);

/*
 * `uasctl trim DISK on`, stored as in sys/state/settings.h: "VID:PID:SERIAL=on 0:2146435072 1:0". Each LUN for which it is on,
 * and the most bytes that it takes at a time; 0: unknown.
 */
#define TRIM_LUNS_MAX 8
struct trim_lun {
        unsigned lun;
        uint64_t max_bytes;
};
/* Returns 1 if it is on for this LUN, 0, or -errno. */
int trims_lookup(const struct roots *r, const struct facts *f, unsigned lun, uint64_t *ret_max_bytes);
/* port: as in setting_store(). n 0: off. Returns 0 or -errno. */
int trims_store(const struct roots *r, const struct facts *f, bool port, const struct trim_lun *luns, size_t n);
