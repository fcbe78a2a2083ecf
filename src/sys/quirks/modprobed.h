/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "sys/io/roots.h"

/* Sorted behind every other file: the last `quirks=` wins. */
#define MODPROBE_FILE "zzz-uasd.conf"

/*
 * libkmod reads the same files. But kmod_config_get_options() returns no file and no line, which
 * remedies name. It returns no error of a file that cannot be read. It adds the options of
 * /proc/cmdline, even for a tree in another folder, and takes 3.5 million instructions to load:
 * twice those of `uasctl list`.
 */

/*
 * Reads the `quirks` of usb_storage from modprobe.d of /etc, /run, /usr/local/lib and /usr/lib, and
 * from the kernel command line. The order is that of kmod (modprobe.d(5), modprobe(8)). Returns 0
 * or -ENOMEM; `ret` is to be freed with quirk_lines_done().
 */
int modprobe_quirk_lines(const struct roots *roots, struct quirk_lines *ret);

/*
 * Reads the `quirks` with which modprobe would load usb_storage, from modprobe.d of /etc and
 * /usr/lib: an initramfs copies these. The kernel command line, which would win, is not read.
 * Returns 0, -ENOSPC if it is longer than the kernel takes, or -ENOMEM.
 */
int modprobe_quirks(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);

/*
 * Reads the sources of the quirks parameter: /sys/module/usb_storage, modprobe.d, /proc/cmdline,
 * /run/uasd/quirks of the initramfs, the records of present switches. Changes nothing. Returns 0 or
 * -ENOMEM; `ret` is to be freed with quirk_facts_done().
 */
int quirk_facts_read(const struct roots *roots, struct quirk_facts *ret);
