/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

/* Whether a disk is linked as fast as it could be, and if not, what on its way to the machine is in the way. */

#define LINK_STEPS_MAX 6 /* five hubs in a row at most, and the root hub (USB 2.0, 4.1.1) */

/* Can the device do SuperSpeed? */
enum link_able {
        LINK_ABLE_NO,      /* nothing says so */
        LINK_ABLE_PERHAPS, /* it calls itself USB 2.10, as all do that can and are linked at high speed (USB 3.2, 9.2.6.6), and a
                              few others */
        LINK_ABLE,         /* by its own word (core/bos.h), or it is linked so */
};

enum link_peer {
        LINK_PEER_UNKNOWN, /* no such attribute: an older kernel */
        LINK_PEER_NONE,
        LINK_PEER_THERE, /* a SuperSpeed port is in the same socket, as far as ACPI and hubs tell the kernel */
};

/* A port on the way, and the hub it belongs to. */
struct link_step {
        enum link_peer peer;
        char hub[INTERFACE_NAME_MAX]; /* "1-2"; "usb1": the root hub */
        unsigned hub_bcd_usb;         /* 0x0200, 0x0210 for the high-speed half of a USB 3 hub; 0: not known */
        bool root;
};

struct link_facts {
        unsigned speed_mbps;
        enum link_able able;
        unsigned controller_mbps;               /* the fastest root hub of its controller; 0: not known */
        struct link_step steps[LINK_STEPS_MAX]; /* from the disk to the root hub */
        size_t n_steps;
};

enum link_limit {
        LINK_LIMIT_NONE,       /* as fast as it can be, as far as is known */
        LINK_LIMIT_CABLE,      /* a SuperSpeed port is there */
        LINK_LIMIT_PORT,       /* a port without one */
        LINK_LIMIT_HUB,        /* a USB 2 hub */
        LINK_LIMIT_HUB_CABLE,  /* a USB 3 hub that is itself linked at high speed, at a port that can do more */
        LINK_LIMIT_HUB_PORT,   /* ... at one that cannot */
        LINK_LIMIT_CONTROLLER, /* a controller without SuperSpeed */
        LINK_LIMIT_UNKNOWN,    /* something of these */
        _LINK_LIMIT_MAX,
};

const char *link_limit_to_string(enum link_limit v);
const char *link_able_to_string(enum link_able v);

/* By the facts of a disk: speed_mbps, max_speed_mbps, usb_version. */
enum link_able link_able(const struct facts *f);

/* *ret_hub: the one that is in the way, "" where it is none. It points into the facts. */
enum link_limit link_limit(const struct link_facts *l, const char **ret_hub);
/* What to do about it, sentences that can stand alone; empty: nothing. Returns ret. */
char *link_advice(const struct link_facts *l, char *ret, size_t size);
