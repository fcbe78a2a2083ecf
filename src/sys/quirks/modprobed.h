/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "sys/io/roots.h"

/* Read after every other file: the last `quirks=` wins. */
#define MODPROBE_FILE "zzz-uasd.conf"

/*
 * What is said of the `quirks` of usb_storage in modprobe.d of /etc, /run, /usr/local/lib and /usr/lib, and on the kernel command
 * line, in the order in which kmod hands it to the kernel (modprobe.d(5), modprobe(8)). 0 or -ENOMEM; `ret` is to be freed with
 * quirk_lines_done().
 */
int modprobe_quirk_lines(const struct roots *r, struct quirk_lines *ret);

/*
 * The `quirks` that modprobe would load usb_storage with, by modprobe.d of /etc and /usr/lib: what an initramfs takes along.
 * Not the kernel command line, which wins over it. 0, -ENOSPC if it is longer than the kernel takes, or -ENOMEM.
 */
int modprobe_quirks(const struct roots *r, char ret[static QUIRKS_MAX + 1]);
