/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/usb/usbdisk.h"

/* The TRIM work of udev's rule for a disk at this event, as properties; see common/names.h. */
struct trim_answer {
        bool on;
        bool set;           /* uasd has set the mode: off restores it */
        const char *mode;   /* mode to be written; NULL: it is right */
        uint64_t max_bytes; /* bytes to be written after it; 0: none */
};

/* l: the LUN of the event's whole disk. */
void trim_ask(const struct roots *r, const struct usb_disk *d, const struct lun *l, struct trim_answer *ret);
