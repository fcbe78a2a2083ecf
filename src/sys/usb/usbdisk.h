/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "sys/io/roots.h"

/*
 * USB mass storage interfaces as sysfs shows them now. Reads only attributes that take no device lock, but for the three
 * USB strings, where they are asked for (`strings`) and nobody has kept them (sys/usb/strings.h).
 */

struct usb_disk { /* one interface and what is behind it */
        struct facts facts;
        char host[16];
        struct lun *luns;
        size_t n_luns;
        bool strings_anew; /* they came from the device, all of them: worth to be kept */
};

void usb_disk_done(struct usb_disk *d);

/*
 * Reads one interface. strings: also manufacturer, product and serial, as kept or from the device.
 * Returns 1; 0 if it is no mass storage interface (class 08, subclass 06) of ours to look at; -ENODEV if it is gone;
 * other -errno. Policy, verdict, quirks and the like are left zero: facts_complete() of sys/facts.h fills them.
 */
int usb_disk_read(const struct roots *r, const char *interface, bool strings, struct usb_disk *ret);

/* Names of all USB interfaces that may be ours. Returns the count or -errno; the list is to be freed with strv_free(). */
int usb_disk_enumerate(const struct roots *r, char ***ret_interfaces);

/* The driver that the interface has now. */
enum driver usb_disk_driver(const struct roots *r, const char *interface);

/* The interface a block device (/sys/block/NAME or a partition's name) hangs on. -ENOENT: not behind USB storage. */
int usb_disk_of_block(const struct roots *r, const char *block, char ret_interface[static INTERFACE_NAME_MAX]);

/* The device of the controller above a root hub ("usb2"): "0000:00:14.0". False if there is none, ret untouched. */
bool usb_controller(const struct roots *r, const char *root_hub, char *ret, size_t size);
/* What a USB device ("2-1") or root hub is linked at, in Mbit/s; 0: not known. Takes no device lock. */
unsigned usb_speed(const struct roots *r, const char *device);
