/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * Keeps disks off uas in the initramfs of `kernel`, which is built in `dir`, before a driver sees
 * them. These are the disks that belong on usb-storage by policy or distrust. etc/modprobe.d gets
 * the whole parameter, etc/uasd/quirks our part of it.
 */
int hold_quirks(const struct roots *roots, const char *kernel, const char *dir);
