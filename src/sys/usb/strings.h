/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * The three strings of a USB device, kept in /run/uasd/strings as long as it stays at its address. They never change there, and
 * reading its attributes may hang. A file of another device, or an incomplete one, does not count.
 */

/*
 * Fills manufacturer, product and serial of the device with this busnum, devnum, vid and pid. Returns false and changes nothing
 * if they are not kept.
 */
bool strings_kept(const struct roots *r, struct facts *f);
/* Returns 0, or -errno: then the next read asks sysfs again. attachments_prune() of sys/state/attachment.h removes the file. */
int strings_keep(const struct roots *r, const struct facts *f);
