/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

/* Events of USB interfaces and block devices, translated. */

struct uevent {
        char action[16];    /* add, remove, change, bind, unbind */
        char subsystem[16]; /* usb, block, scsi */
        char name[INTERFACE_NAME_MAX];
        char interface[INTERFACE_NAME_MAX]; /* the USB interface, or the one above the device;
                                               empty: none */
};

struct udev_monitor;

enum uevents {
        UEVENTS_BOUND,     /* of interfaces and SCSI hosts, from the kernel, at once */
        UEVENTS_ANNOUNCED, /* of block devices, from the kernel, at once */
        UEVENTS_PROCESSED, /* of USB and block devices, after udev's rules */
};

/* Returns 0 or -errno. */
int uevents_open(enum uevents which, struct udev_monitor **ret);
void uevents_close(struct udev_monitor *m);
int uevents_fd(struct udev_monitor *m);

/* Returns 1 and an event, 0 if there is none, -ENOBUFS if some were lost and sysfs must be read
 * again, or another -errno. */
int uevents_next(struct udev_monitor *m, struct uevent *ret);
