/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * For the initramfs of that kernel, which is being made in `dir`: what keeps disks off uas there that policy or distrust want on
 * usb-storage, before any driver sees them. etc/modprobe.d has the whole parameter, etc/uasd/quirks what of it is ours.
 */
int hold_quirks(const struct roots *r, const char *kernel, const char *dir);
