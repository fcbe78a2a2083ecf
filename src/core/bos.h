/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/*
 * Returns the highest speed of a device according to its descriptors, in Mbit/s. The sources are the SuperSpeed capabilities in
 * its BOS (binary object store: /sys/bus/usb/devices/X/bos_descriptors, since Linux 6.9), or else its bcdUSB. The bytes come from
 * the device, so each one is checked.
 *
 * bos: NULL if there is none, or the kernel does not show it. usb_version: bcdUSB as in sysfs, "2.10". link_mbps: present speed.
 * Never returns less than that, but 0 if unknown. No descriptor contains lanes: only the link shows 20 Gbit/s.
 */
unsigned device_max_speed(const void *bos, size_t size, const char *usb_version, unsigned link_mbps);

/* Converts bcdUSB as in sysfs, "2.10", to 0x0210; 0: malformed. */
unsigned usb_version_bcd(const char *version);
