/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirks.h"
#include "sys/roots.h"

/* Read after every other file: the last `quirks=` wins. */
#define MODPROBE_FILE "zzz-uasd.conf"

/*
 * The `quirks` that modprobe would load usb_storage with, by modprobe.d of /etc and /usr/lib: what an initramfs takes along.
 * Not the kernel command line, which wins over it. 0, -ENOSPC if it is longer than the kernel takes, or -ENOMEM.
 */
int modprobe_quirks(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
