/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/facts.h"

/*
 * Disks that drop off the bus by themselves and come back: mostly that is a cable, a connector or the power. To the kernel and to
 * us each time is an unplug and another attachment, so it is counted by ports.
 *
 * A drop is a disk that is back at its port soon after it went, as another device. What is taken for one by mistake: somebody's
 * pulling the plug and putting it back at once, the same by a switchable hub, two disks of one kind without serial numbers that
 * are exchanged quickly, a bridge that restarts itself. That is cheap, since three are needed and no more comes of it than a
 * sentence. What is missed: a disk that comes back at another port, as a USB 3 disk does whose cable is good for high speed
 * alone.
 *
 * Kept in memory alone, and looked at when a disk comes or goes: no timer, and a restart of uasd forgets. Times are
 * CLOCK_BOOTTIME.
 */

#define DROP_USEC 5000000ULL /* somebody's hand mostly takes longer */
#define DROPS_MEMORY_USEC 600000000ULL
#define DROPS_ENOUGH 3
/* A disk that the machine has lost over its sleep comes and goes when it wakes up: what happens so soon after it is the sleep's.
 */
#define DROPS_WOKEN_USEC 20000000ULL
#define DROPS_PORTS_MAX 16

struct dropping {
        char port[INTERFACE_NAME_MAX]; /* "2-1"; empty: nobody's */
        uint16_t vid, pid;             /* who went there last */
        char serial[USB_STRING_MAX];
        unsigned devnum;         /* it had */
        usec_t seen;             /* when that was */
        bool away;               /* and it may come back */
        usec_t at[DROPS_ENOUGH]; /* its last drops, the oldest first */
        unsigned n;
        bool told; /* of this series, which goes on until there was none for as long as one counts */
};

struct drops {
        struct dropping ports[DROPS_PORTS_MAX];
        bool begun;    /* the next is known: a disk has come since uasd began */
        usec_t asleep; /* as last seen */
        usec_t woken;  /* when it was seen to be more; 0: never */
};

/* The machine's clocks: now, and how much of that it has slept. */
struct drops_time {
        usec_t now, asleep;
};

/* A disk has gone. explained: uasd was at work on it, or its bridge is known to have failed. */
void drops_gone(struct drops *d, const struct facts *f, bool explained, const struct drops_time *t);

/* A disk has come. Returns how often it has dropped if that is enough and has not been told yet; else 0. */
unsigned drops_came(struct drops *d, const struct facts *f, const struct drops_time *t);
