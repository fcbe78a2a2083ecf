/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/kmsg.h"
#include "sys/io/roots.h"

/* Returns true in an initramfs. */
bool in_initramfs(const struct roots *roots);

/* Returns true if the kernel command line contains the word. In the initramfs its rd. form counts
 * as well. */
bool cmdline_has(const struct roots *roots, const char *word);

/*
 * Returns the command that rebuilds the initramfs, for the tool whose configuration exists:
 * initramfs-tools, dracut, mkinitcpio. NULL: none of them.
 */
const char *initramfs_command(const struct roots *roots);

/* Reads the next record of /dev/kmsg, opened with O_NONBLOCK. Returns 1; 0 or -errno (-EAGAIN) if
 * there is none. */
int kmsg_next(int fd, struct kmsg *ret);

/*
 * Returns the error with which uas gave up on this interface ("2-1:1.0") since its device was
 * plugged in, as a negative errno. Returns 0 if /dev/kmsg has no such record, or cannot be read.
 */
int uas_probe_error(const struct roots *roots, const char *interface);
