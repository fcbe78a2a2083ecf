/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"

/*
 * Disks that drop off the bus by themselves and come back, mostly because of a cable, a connector or the power. For the kernel
 * and uasd each time is an unplug and another attachment, so drops are counted by port.
 *
 * A drop is a disk that is back at its port, as another device, soon after it went. Some other events look the same. A user may
 * pull the plug and put it back at once, or do that with a switchable hub. A user may exchange two disks of one kind without
 * serial numbers quickly. A bridge may restart itself. This does little harm: three drops are needed, and the only result is a
 * sentence. Drops are missed if the disk comes back at another port. A USB 3 disk does so if its cable works only at high speed.
 *
 * Drops are only in memory, and evaluated when a disk comes or goes: there is no timer, and a restart of uasd forgets them. Times
 * are CLOCK_BOOTTIME.
 */

#define DROP_USEC 5000000ULL /* a user mostly takes longer to unplug and plug in */
#define DROPS_MEMORY_USEC 600000000ULL
#define DROPS_ENOUGH 3
/* A disk that lost its connection during sleep comes and goes at the wakeup. Drops so soon after it do not count. */
#define DROPS_WOKEN_USEC 20000000ULL
#define DROPS_PORTS_MAX 16

struct dropping {
        char port[INTERFACE_NAME_MAX]; /* "2-1"; empty: a free entry */
        uint16_t vid, pid;             /* the last disk at that port */
        char serial[USB_STRING_MAX];
        unsigned devnum;         /* its device number */
        usec_t seen;             /* time of its last event */
        bool away;               /* it has gone, and may come back */
        usec_t at[DROPS_ENOUGH]; /* times of its last drops, the oldest first */
        unsigned n;
        bool told; /* this series was reported. It ends after DROPS_MEMORY_USEC without a drop */
};

struct drops {
        struct dropping ports[DROPS_PORTS_MAX];
        bool begun;    /* `asleep` is valid: a disk has come or gone since uasd began */
        usec_t asleep; /* its last value */
        usec_t woken;  /* time at which it was seen to grow; 0: never */
};

/*
 * A disk has gone. asleep: the part of `now` that the machine has slept. explained: uasd was switching it, or its bridge is
 * known to have failed.
 */
void drops_gone(struct drops *d, const struct facts *f, bool explained, usec_t now, usec_t asleep);

/* A disk has come. Returns its number of drops if that is enough and not reported yet, else 0. */
unsigned drops_came(struct drops *d, const struct facts *f, usec_t now, usec_t asleep);
