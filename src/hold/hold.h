/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"
#include "hold/dropin.h"
#include "hold/trim.h"
#include "sys/io/roots.h"
#include "sys/usb/usbdisk.h"

/* What udev says of the event at hand. */
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

/*
 * Arms the dead man's timer. Returns 0 if it runs for l->hold from now on, and a hold of that length costs no
 * boot: timer_arm(), but for tests.
 */
typedef int (*hold_arm_fn)(const struct roots *r, const char *interface, const struct hold_limits *l);

/*
 * Whether this event leaves the block device held, and what else is known of it. It may begin a hold; it is
 * asked anew at every event, and every error is an answer: not held. Returns 0 or -errno, ret untouched then.
 */
int hold_ask(const struct roots *r, const struct block_event *e, hold_arm_fn arm, struct hold_answer *ret);

/* The kernel command line says that nothing is to be held, or moved before anybody is told of it. */
bool hold_forbidden(const struct roots *r);
/* Nobody was told of the disk or uses it, and it was neither held nor moved on this attachment. */
bool hold_untouched(const struct roots *r, const struct usb_disk *d);

/* Policy goes by names that udev has read; sysfs would take the device lock for them. */
void strings_from_udev(const struct roots *r, struct facts *f);
/* A disk that a switch has left without a driver gets one. */
void hold_rescue(const struct roots *r, const struct facts *f);

/*
 * Ends the hold of an interface, if there is one: never again on this attachment, and `add` for all its disks.
 * Returns 1 if something was held, else 0, or -errno. ret_expired (may be NULL): whether its time had come.
 */
int hold_end(const struct roots *r, const char *interface, bool *ret_expired);
