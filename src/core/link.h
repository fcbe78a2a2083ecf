/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

/* Is a disk linked as fast as possible? If not, which part of the path limits it? */

/*
 * Returns the highest speed of a device according to its descriptors, in Mbit/s. The sources are
 * the SuperSpeed capabilities in its BOS (binary object store:
 * /sys/bus/usb/devices/X/bos_descriptors, since Linux 6.9), or else its bcdUSB. The bytes come from
 * the device, so each one is checked.
 *
 * bos: NULL if there is none, or the kernel does not show it. usb_version: bcdUSB as in sysfs,
 * "2.10". link_mbps: present speed. Never returns less than that, but 0 if unknown. No descriptor
 * contains lanes: only the link shows 20 Gbit/s.
 */
unsigned device_max_speed(const void *bos, size_t size, const char *usb_version,
                          unsigned link_mbps);

/* Converts bcdUSB as in sysfs, "2.10", to 0x0210; 0: malformed. */
unsigned usb_version_bcd(const char *version);

#define LINK_STEPS_MAX 6 /* five hubs in a row at most, and the root hub (USB 2.0, 4.1.1) */

/* Does the device support SuperSpeed? */
enum link_able {
        LINK_ABLE_NO,      /* no sign of it */
        LINK_ABLE_PERHAPS, /* bcdUSB is 2.10: all that do and are linked at high speed
                              (USB 3.2, 9.2.6.6), and a few others */
        LINK_ABLE,         /* by its descriptors (device_max_speed()), or it is linked so */
};

enum link_peer {
        LINK_PEER_UNKNOWN, /* no such attribute: an older kernel */
        LINK_PEER_NONE,
        LINK_PEER_THERE, /* the same socket has a SuperSpeed port, according to ACPI and hubs */
};

/* A port on the path, and its hub. */
struct link_step {
        enum link_peer peer;
        char hub[INTERFACE_NAME_MAX]; /* "1-2"; "usb1": the root hub */
        unsigned hub_bcd_usb; /* 0x0200, 0x0210 for the high-speed half of a USB 3 hub, or 0:
                                 unknown */
        bool root;
};

struct link_facts {
        unsigned speed_mbps;
        enum link_able able;
        unsigned controller_mbps; /* speed of the fastest root hub of its controller; 0: unknown */
        struct link_step steps[LINK_STEPS_MAX]; /* from the disk to the root hub */
        size_t n_steps;
};

enum link_limit {
        LINK_LIMIT_NONE,       /* as fast as possible, as far as known */
        LINK_LIMIT_CABLE,      /* there is a SuperSpeed port */
        LINK_LIMIT_PORT,       /* a port without one */
        LINK_LIMIT_HUB,        /* a USB 2 hub */
        LINK_LIMIT_HUB_CABLE,  /* a USB 3 hub with a high-speed link, at a faster port */
        LINK_LIMIT_HUB_PORT,   /* the same, at a port that is not faster */
        LINK_LIMIT_CONTROLLER, /* a controller without SuperSpeed */
        LINK_LIMIT_UNKNOWN,    /* one of these */
        _LINK_LIMIT_MAX,
};

const char *link_limit_to_string(enum link_limit v);
const char *link_able_to_string(enum link_able v);

/* Uses speed_mbps, max_speed_mbps and usb_version of the disk. */
enum link_able link_able(const struct facts *f);

/* ret_hub: the hub that limits it, or "". It points into the facts. */
enum link_limit link_limit(const struct link_facts *l, const char **ret_hub);
/* Writes advice as complete sentences; empty: none. Returns ret. */
char *link_advice(const struct link_facts *l, char *ret, size_t size);
