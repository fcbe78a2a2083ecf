/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/*
 * How fast a device could be by its own word, in Mbit/s: what its BOS (binary object store:
 * /sys/bus/usb/devices/X/bos_descriptors, since Linux 6.9) tells of SuperSpeed, or else its bcdUSB. The bytes come from the
 * device: nothing in them is believed.
 *
 * bos: NULL if there is none, or the kernel does not show it. usb_version: bcdUSB as sysfs says it, "2.10". link_mbps: what it
 * runs at now. Returns never less than that, but 0 if it cannot be known. Lanes are told nowhere: 20 Gbit/s show in the link
 * alone.
 */
unsigned device_max_speed(const void *bos, size_t size, const char *usb_version, unsigned link_mbps);

/* bcdUSB as sysfs says it, "2.10", as 0x0210; 0: not understood. */
unsigned usb_version_bcd(const char *version);
