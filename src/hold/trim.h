/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/usb/usbdisk.h"

/* What udev's rule is to do about TRIM of a disk at this event: properties, see common/names.h. */
struct trim_answer {
        bool on;
        bool set;           /* the mode is ours: off puts it back */
        const char *mode;   /* to be written; NULL: it is right */
        uint64_t max_bytes; /* to be written after it; 0: nothing */
};

/* l: the LUN whose whole disk this event is about. */
void trim_ask(const struct roots *r, const struct usb_disk *d, const struct lun *l, struct trim_answer *ret);
