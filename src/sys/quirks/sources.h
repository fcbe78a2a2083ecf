/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "sys/io/roots.h"

/*
 * Reads the sources of the quirks parameter: /sys/module/usb_storage, modprobe.d, /proc/cmdline, /run/uasd/quirks of the
 * initramfs, the records of present switches. Changes nothing. Returns 0 or -ENOMEM; `ret` is to be freed with
 * quirk_facts_done().
 */
int quirk_facts_read(const struct roots *r, struct quirk_facts *ret);
