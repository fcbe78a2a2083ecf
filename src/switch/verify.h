/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/*
 * Returns 0, -EBUSY if a process uses the disk already, or another -errno: the fault of the disk. A
 * child does it, since a sick disk hangs even open(2).
 */
int verify(struct transaction *t, struct awake deadline);
/* Waits for the exit of a child that has closed the disk. */
void verify_end(struct transaction *t);
/* Opens the present disks in a child, and watches them. Returns 0, -ENODEV if the attachment has
 * ended, or another -errno. */
int examiner_open(struct transaction *t, struct claim *c, struct usb_disk *ret);
/* Called by that child after its answer: closes the disk, says so, and ends. */
__attribute__((noreturn)) void examiner_end(struct claim *c, int out);

/* reread.c: after a roll-back to usb-storage, reads there what could not be read under uas. Sets
 * the guilt and the text. */
void reread(struct transaction *t);
