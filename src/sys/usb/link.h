/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/link.h"
#include "sys/io/roots.h"

/* A hub between a disk and its controller. Read without a device lock: the kernel locks a hub while
 * it checks its ports. */
struct hub {
        char name[INTERFACE_NAME_MAX]; /* "usb2", the root hub; "2-1.4" */
        unsigned speed_mbps;           /* 0: unknown */
        char driver[32]; /* "hub"; for a root hub that of the controller, "xhci_hcd" */
        /* "Maker Hub", from udev's record; for a root hub the device of the controller; or empty */
        char product[2 * USB_STRING_MAX];
};

/* The name of the hub above a port or hub: "2-1.4" is on "2-1", that on "usb2". False for a root
 * hub. */
bool hub_above(const char *name, char ret[static INTERFACE_NAME_MAX]);

/* Reads the attributes of a hub; missing ones stay empty. */
void hub_read(const struct roots *roots, const char *name, struct hub *ret);

/*
 * Reads the ports and hubs between this disk and its controller, and the controller's speed. Uses
 * only links and attributes in /sys/bus/usb/devices that take no lock; missing ones are unknown.
 * From `f` it uses the interface, the speed and the possible speed.
 */
void link_read(const struct roots *roots, const struct facts *f, struct link_facts *ret);
