/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fake.h"
#include "switch/report.h"
#include "switch/tasks.h"
#include "switch/transaction.h"

/* One switch on the fake kernel: the machine before it, and the conditions that must hold after it.
 */
struct scene {
        enum driver from, to;
        unsigned luns, partitions; /* 0 LUNs: one */
        const char *quirks;        /* entries of other programs */
        bool vendor, automatic, plugged, counts, no_udev;
        bool unscanned;   /* just plugged in: the kernel has not looked for its LUNs yet */
        bool unloaded;    /* uas is not loaded yet */
        bool early;       /* in udev's own event of the interface */
        bool lost_events; /* the receive buffer overflows at every event */
        bool asks;        /* a look at the record and at its folder is an operation, too */
        bool watched;     /* uasd runs */
        bool signals;     /* it handles signals as the program does; in a process of its own */
        bool eject;       /* instead of a switch */
        bool held;        /* since boot or plug-in, by the udev helper */
        int hold_sec;     /* HoldSec=; 0: the default; -1: HoldSec=0 */
        bool slot;        /* its last LUN is an empty slot of a card reader */
        bool bystander;   /* a second disk of the same model, which the switch must not touch */
        struct fake_hook hooks[4];
        void (*prepare)(struct fake_usb *u);
};

struct result {
        int code; /* enum uasd_exit, or -1: killed */
        char step[24], text[512];
        enum driver driver; /* its driver afterwards */
};

extern bool scene_reports; /* the steps and users are printed */

void scene_make(const struct scene *s);
void scene_switch(const struct scene *s, struct result *ret);
/* Runs it in a process of its own, which the hooks may kill. */
void scene_switch_in_child(const struct scene *s, struct result *ret);
/* Runs uasd-switch --recover until nothing is left to do. Returns 0 or -errno. */
int scene_recover(const struct scene *s);
/* The state on record (enum history_state), -1: none, -ENODEV: the disk is gone. ret: NULL, or gets
 * the record. No hook runs from here on. */
int scene_recorded(struct history *ret);
/* NULL, or the postcondition that does not hold. They hold however a switch ends. */
const char *scene_wrong(const struct scene *s);
/* NULL, or what is still held now, even without the dead man's timer. */
const char *scene_held(void);
void scene_remove(void);

/* Makes the scene, runs the switch and checks it. Prints what is wrong, and the operations up to
 * there. */
bool scene_play(const struct scene *s, const char *what, struct result *ret);
/* Writes the numbered operations of the present scene to stderr, in one line. */
void scene_print_ops(void);
