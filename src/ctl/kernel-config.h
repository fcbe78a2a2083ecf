/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * Whether the running kernel is built with CONFIG_USB_UAS, by its configuration in /boot or /usr/lib/modules. Without it
 * usb-storage leaves no disk to uas. 1 or 0; -ENODATA: no such file.
 */
int kernel_config_uas(const struct roots *r);
