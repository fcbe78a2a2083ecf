/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/*
 * A file to write to, in a directory of the user. It never has a name, so it disappears with its last descriptor in every case.
 * fio opens it through our descriptor, below /proc.
 */
struct scratch {
        int fd;
        char path[64];
};

#define SCRATCH_NULL ((struct scratch){.fd = -1})

/* Makes it empty and `size` long. Returns 0 or -errno. -ENOSPC: too little room, ret_free is the free space. */
int scratch_make(const char *directory, uint64_t size, struct scratch *ret, uint64_t *ret_free);
/* As much of `wanted` as leaves half of the free space free, but at least `least`. */
uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least);
void scratch_end(struct scratch *s);
