/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* Moves an interface, for the steps and their undo. */

/* Adds the quirks, binds, checks the link, removes the quirks. */
int attach(struct transaction *t, enum driver d);
/*
 * Returns true if the new driver is registered: it has been offered every interface without a
 * driver, and its module is not being unloaded. The kernel makes this file after the one, and
 * removes it before the other (drivers/base/bus.c:bus_add_driver).
 */
bool driver_registered(const struct transaction *t);
/* Removes the entry that a bind has left in the quirks. */
void quirks_in_order(struct transaction *t);
/* Brings it to `from`, else to any driver, with its disks. */
void attach_back(struct transaction *t);
