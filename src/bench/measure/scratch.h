/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/*
 * A file to write to, in a directory of the user's. It has no name from the beginning, so that it goes with the
 * last descriptor, whatever becomes of us: fio opens it by ours, below /proc.
 */
struct scratch {
        int fd;
        char path[64];
};

#define SCRATCH_NULL ((struct scratch){.fd = -1})

/* Empty and `size` long. 0; -ENOSPC: there is no room for it, ret_free has how much there is; other -errno. */
int scratch_make(const char *directory, uint64_t size, struct scratch *ret, uint64_t *ret_free);
/* So much of what is wanted as leaves half of what is free there alone, but no less than `least`. */
uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least);
void scratch_end(struct scratch *s);
