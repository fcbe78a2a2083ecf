/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/*
 * Reads the SCSI devices below an interface's directory: hostN/targetN:C:T/N:C:T:L, with their block devices and partitions. An
 * interface without a host has none. Returns 0 or -errno; the list is to be freed with luns_free().
 */
int luns_read(int interface_fd, char ret_host[static 16], struct lun **ret, size_t *ret_n);
