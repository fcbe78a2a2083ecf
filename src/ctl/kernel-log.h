/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ctl/context.h"

/* What the kernel said in this boot of USB disks: of the ports they are at now, and of each SCSI host of usb-storage and uas. */

#define KERNEL_LINES_MAX 100 /* the newest */

struct kernel_line {
        uint64_t usec; /* since 1970 */
        char *text;    /* as it is in the journal */
};

struct kernel_log {
        struct kernel_line lines[KERNEL_LINES_MAX];
        size_t n;
};

/* 0, also without a journal; -errno. */
int kernel_log_read(const struct ctl *c, const struct views *v, struct kernel_log *ret);
void kernel_log_print(const struct kernel_log *l);
void kernel_log_done(struct kernel_log *l);
