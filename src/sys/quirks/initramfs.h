/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * Returns the command that rebuilds the initramfs, for the tool whose configuration exists: initramfs-tools, dracut, mkinitcpio.
 * NULL: none of them.
 */
const char *initramfs_command(const struct roots *r);
