/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/* Returns true in an initramfs. */
bool in_initramfs(const struct roots *r);

/* Returns true if the kernel command line contains the word. In the initramfs its rd. form counts as well. */
bool cmdline_has(const struct roots *r, const char *word);

/*
 * Returns the command that rebuilds the initramfs, for the tool whose configuration exists: initramfs-tools, dracut, mkinitcpio.
 * NULL: none of them.
 */
const char *initramfs_command(const struct roots *r);
