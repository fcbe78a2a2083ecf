/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

struct decision {
        enum driver target; /* DRIVER_NONE: leave it on what it has */
        enum state rest;    /* the state of a disk that needs no switch: settled, ignored, incapable, unbound */
        enum reason reason;
};

/* Takes the first row of the table that fits (core/policy-table.c). The last row always fits. */
void decide(const struct facts *f, struct decision *ret);

/* True if the driver in place is not the target, and the decision wants one. */
bool decision_wants_switch(const struct facts *f, const struct decision *d);

/* True if that is away from uas, where it failed: a disk that cannot stay where it is. */
bool decision_flees(const struct facts *f, const struct decision *d);

/*
 * True if the switch may be made in udev's event of the interface, in the initramfs or in the coldplug of the root file
 * system. In an initramfs nothing can be put on record, so uas is for disks that have passed their trial. Off uas is always
 * safe.
 */
bool decision_fits_early(const struct facts *f, const struct decision *d, bool initramfs);
