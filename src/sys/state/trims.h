/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "core/trim.h"
#include "sys/io/roots.h"

/* Reads the TRIM facts of a block device from sysfs, all but `kept`. A missing attribute is
 * unknown. Sends the disk no command.
 */
void trim_read(const struct roots *roots, const char *block, struct trim_facts *ret);
/* Reads only `offer` and max_bytes. Like the next function it does not lock the queue of the disk.
 */
void trim_read_offer(const struct roots *roots, const char *block, unsigned block_size,
                     struct trim_facts *ret);
/* Reads only provisioning_mode. */
void trim_read_mode(const struct roots *roots, const char *block, char ret[static TRIM_MODE_MAX]);

/*
 * `uasctl trim DISK on`, stored as in sys/state/settings.h: "VID:PID:SERIAL=on
 * 0:2146435072:SIZE:INQUIRY:SERIAL 1:0:...". Each LUN for which it is on, the most bytes that it
 * takes at a time (0: unknown), and its medium. ":force" behind it: the disk did not offer TRIM.
 */
#define TRIM_LUNS_MAX 8
struct trim_lun {
        unsigned lun;
        uint64_t max_bytes;
        struct trim_medium medium;
        bool forced;
};
void trim_read_medium(const struct roots *roots, const char *block, struct trim_medium *ret);
/* Returns an enum trim_kept for this LUN and its block device, or -errno. */
int trims_lookup(const struct roots *roots, const struct facts *f, unsigned lun, const char *block,
                 uint64_t *ret_max_bytes);
/* port: as in setting_store(). n 0: off. Returns 0 or -errno. */
int trims_store(const struct roots *roots, const struct facts *f, bool port,
                const struct trim_lun *luns, size_t n);
