/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * The command that makes the initramfs of this machine anew, by whose configuration is there: initramfs-tools, dracut,
 * mkinitcpio. NULL: none of them.
 */
const char *initramfs_command(const struct roots *r);
