/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/* What stands between a disk and its controller. Read without a device lock: a hub is locked while it looks at its ports. */
struct hub {
        char name[INTERFACE_NAME_MAX];    /* "usb2", the root hub; "2-1.4" */
        unsigned speed_mbps;              /* 0: not known */
        char driver[32];                  /* "hub"; for a root hub that of the controller, "xhci_hcd" */
        char product[2 * USB_STRING_MAX]; /* "Maker Hub", by udev's record; for a root hub the controller's device; or empty */
};

/* The name of the hub above a port or hub: "2-1.4" is on "2-1", that on "usb2". False for a root hub. */
bool hub_above(const char *name, char ret[static INTERFACE_NAME_MAX]);

/* What can be read of it; what cannot stays empty. */
void hub_read(const struct roots *r, const char *name, struct hub *ret);
