/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The abilities of an interface, from the raw descriptors in sysfs (/sys/bus/usb/devices/X/descriptors: the 18-byte device
 * descriptor, then every configuration). The checks and their order are those of drivers/usb/storage/uas-detect.h.
 */
struct uas_caps {
        bool bot;                /* alternate setting 0 is 08/06/50 */
        bool uas;                /* one alternate setting is 08/06/62 */
        bool pipes;              /* and it has all four pipe usage descriptors */
        uint8_t uas_alt;         /* the first such alternate setting */
        uint8_t max_power;       /* bMaxPower, raw; 0 distinguishes an ASM1153 from its predecessors */
        unsigned status_streams; /* streams of the status pipe; 0 below SuperSpeed */
};

/*
 * Reads the interface of one configuration. The bytes come from the device, so each one is checked. configuration:
 * bConfigurationValue, or 0 for the first one. Returns 0, -EBADMSG if the bytes are no descriptors, or -ENOENT if they do not
 * contain the interface.
 */
int descriptors_parse(const void *data, size_t size, uint8_t configuration, uint8_t interface, struct uas_caps *ret);
