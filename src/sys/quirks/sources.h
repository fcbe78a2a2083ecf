/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "sys/io/roots.h"

/*
 * Whence the quirks parameter has its entries: /sys/module/usb_storage, modprobe.d, /proc/cmdline, /run/uasd/quirks of the
 * initramfs, the records of switches that are under way. Reads alone. 0 or -ENOMEM; `ret` is to be freed with quirk_facts_done().
 */
int quirk_facts_read(const struct roots *r, struct quirk_facts *ret);
