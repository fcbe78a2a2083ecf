/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * The three strings of a USB device, kept in /run/uasd/strings for as long as it stays at its address: they never change
 * there, and its attributes may hang. A file of another device, or one that is not whole, does not count.
 */

/* Fills manufacturer, product and serial; busnum, devnum, vid and pid say whose. False: not kept, nothing touched. */
bool strings_kept(const struct roots *r, struct facts *f);
/* Returns 0 or -errno: then sysfs is asked the next time as well. attachments_prune() of sys/state/attachment.h takes it away. */
int strings_keep(const struct roots *r, const struct facts *f);
