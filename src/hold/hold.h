/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"
#include "hold/allowed.h"
#include "sys/io/roots.h"
#include "sys/usb/usbdisk.h"

/* The TRIM work of udev's rule for a disk at this event, as properties; see common/names.h. */
struct trim_answer {
        bool on;
        bool set;           /* uasd has set the mode: off restores it */
        const char *mode;   /* mode to be written; NULL: it is right */
        uint64_t max_bytes; /* bytes to be written after it; 0: none */
};

/* l: the LUN of the event's whole disk. */
void trim_ask(const struct roots *roots, const struct usb_disk *d, const struct lun *l,
              struct trim_answer *ret);

/* Properties of the event that udev processes. */
struct block_event {
        const char *block;   /* "sda1" */
        const char *action;  /* may be NULL */
        const char *devtype; /* may be NULL */
};

struct hold_answer {
        bool hold;
        bool capable;
        bool no_auto;
        enum verdict verdict;
        struct trim_answer trim; /* of a whole disk */
};

/* The part that is missing in an answer. */
enum hold_open {
        HOLD_ANSWERED,  /* nothing */
        HOLD_MUST_WAIT, /* all: a switch has to end first */
        HOLD_MAY_BEGIN, /* .hold: the configuration decides */
};

/*
 * Answers an event as far as that needs no decision, and writes nothing. waited: HOLD_MUST_WAIT is
 * over. The caller frees d by usb_disk_done() after any result. Returns an enum hold_open, or
 * -errno without a change of ret.
 */
int hold_ask(const struct roots *roots, const struct block_event *e, bool waited,
             struct usb_disk *d, struct hold_answer *ret);

/*
 * Arms the dead man's timer: uasd-pid1 does that, except in tests. Returns 0 if it runs from now on
 * for the length of a hold, and a hold of that length does not make a boot fail.
 */
typedef int (*hold_arm_fn)(const char *interface);

/*
 * Answers an event whole. It may begin a hold. The decision is made again at every event, and after
 * any error the device is not held. Returns 0, or -errno without a change of ret.
 */
int hold_decide(const struct roots *roots, const struct block_event *e, hold_arm_fn arm,
                struct hold_answer *ret);

/* PID 1 knows a block device from udev's record, which disappears with the device. */
enum known_as {
        KNOWN_AS_NOTHING,
        KNOWN_AS_HELD,
        KNOWN_AS_READY,
};
enum known_as block_known_as(const struct roots *roots, const struct block *b);

/* Returns true if the kernel command line forbids holds, and switches before udev announces a disk.
 */
bool hold_forbidden(const struct roots *roots);
/* Returns true if udev has not announced the disk, it has no users, and it was not held on this
 * attachment. */
bool hold_untouched(const struct roots *roots, const struct usb_disk *d);

/* Reads the strings of a disk from udev's record. Policy depends on them; sysfs would take the
 * device lock. */
void strings_from_udev(const struct roots *roots, struct facts *f);
/* Gives a driver to a disk that a switch has left without one. */
void hold_rescue(const struct roots *roots, const struct facts *f);

/*
 * Ends the hold of an interface, if there is one: it is never held again on this attachment, and
 * all its disks get `add`. Returns 1 if something was held, 0, or -errno. ret_expired (may be
 * NULL): true if its deadline had passed.
 */
int hold_end(const struct roots *roots, const char *interface, bool *ret_expired);
