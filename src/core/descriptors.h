/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an interface offers, read from the raw descriptors as sysfs hands them out
 * (/sys/bus/usb/devices/X/descriptors: the 18-byte device descriptor, then every configuration).
 * The checks and their order are those of drivers/usb/storage/uas-detect.h.
 */
struct uas_caps {
        bool bot;                /* alternate setting 0 is 08/06/50 */
        bool uas;                /* some alternate setting is 08/06/62 */
        bool pipes;              /* and has all four pipe usage descriptors */
        uint8_t uas_alt;         /* the first such alternate setting */
        uint8_t max_power;       /* bMaxPower, raw; 0 tells an ASM1153 from its ancestors */
        unsigned status_streams; /* streams of the status pipe; 0 below SuperSpeed */
        unsigned interfaces;     /* found in the configuration, whatever it claims: a USB reset hits all */
};

/*
 * Reads the interface of one configuration. The bytes come from the device: nothing in them is believed.
 * configuration: bConfigurationValue, or 0 for the first one.
 * Returns 0; -EBADMSG if the bytes are no descriptors, -ENOENT if the interface is not in them.
 */
int descriptors_parse(const void *data, size_t size, uint8_t configuration, uint8_t interface, struct uas_caps *ret);
