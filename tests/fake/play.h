/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fake.h"
#include "switch/transaction.h"

/* One switch on the fake kernel, from the machine as it was before to what has to be true afterwards. */
struct scene {
        enum driver from, to;
        unsigned luns, partitions; /* 0 LUNs: one */
        const char *quirks;        /* of others */
        bool vendor, automatic, plugged, counts, no_udev;
        bool early;       /* in udev's own event of the interface */
        bool lost_events; /* the receive buffer overflows at every event */
        bool watched;     /* uasd is there */
        bool signals;     /* as the program treats them; in a process of its own */
        bool held;        /* since boot or plug-in, by the udev helper */
        bool slot;        /* its last LUN is a card reader's, and empty */
        bool bystander;   /* a second disk of the same make, which nobody may touch */
        struct fake_hook hooks[3];
        void (*prepare)(struct fake_usb *u);
};

struct result {
        int code; /* enum uasd_exit, or -1: killed */
        char step[24], text[256];
        enum driver driver; /* it is on afterwards */
};

void scene_make(const struct scene *s);
void scene_switch(const struct scene *s, struct result *ret);
/* In a process of its own, which the hooks may kill. */
void scene_switch_in_child(const struct scene *s, struct result *ret);
/* uasd-switch --recover, until it says that nothing is left to do. Returns 0 or -errno. */
int scene_recover(const struct scene *s);
/* NULL, or what is wrong: the postconditions that hold however a switch ends. */
const char *scene_wrong(const struct scene *s);
/* NULL, or what is still held at this moment, dead man's timer or not. */
const char *scene_held(void);
void scene_remove(void);

/* All of it. Prints what is wrong, and what was done up to there. */
bool scene_play(const struct scene *s, const char *what, struct result *ret);
