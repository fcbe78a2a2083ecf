/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "core/trim.h"
#include "sys/io/roots.h"

/* What a block device's sysfs says of TRIM; all but `kept`. What is not there is not known. */
void trim_read(const struct roots *r, const char *block, struct trim_facts *ret);
/* provisioning_mode alone, which no lock of the disk's queue is taken for. */
void trim_read_mode(const struct roots *r, const char *block, char ret[static TRIM_MODE_MAX]);

/*
 * `uasctl trim DISK on`, kept as sys/state/settings.h says: "VID:PID:SERIAL=on 0:2146435072 1:0", each LUN it was turned
 * on for, and how many bytes it takes at a time; 0: not known.
 */
#define TRIM_LUNS_MAX 8
struct trim_lun {
        unsigned lun;
        uint64_t max_bytes;
};
/* 1: on for this LUN; 0: not; -errno. */
int trims_lookup(const struct roots *r, const struct facts *f, unsigned lun, uint64_t *ret_max_bytes);
/* port: as setting_store() has it. n 0: off. 0 or -errno. */
int trims_store(const struct roots *r, const struct facts *f, bool port, const struct trim_lun *luns, size_t n);
