/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

struct decision {
        enum driver target; /* DRIVER_NONE: leave it on its driver */
        enum state rest;    /* the state of a disk that needs no switch: settled, ignored, incapable, unbound */
        enum reason reason;
};

/* Uses the first row of the table that fits (core/policy-table.c). The last row always fits. */
void decide(const struct facts *f, struct decision *ret);

/* Returns true if there is a target, and it is not the present driver. */
bool decision_wants_switch(const struct facts *f, const struct decision *d);

/* Returns true for a switch away from uas, where it failed: a disk that must leave its driver. */
bool decision_flees(const struct facts *f, const struct decision *d);

/*
 * Returns true if the switch is possible in udev's event of the interface, in the initramfs or in the coldplug of the root file
 * system. In an initramfs a trial cannot be recorded, so uas is only for disks that have passed theirs. A switch away from uas is
 * always safe.
 */
bool decision_fits_early(const struct facts *f, const struct decision *d, bool initramfs);
