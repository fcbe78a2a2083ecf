/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "ctl/context.h"

/*
 * Steps for a disk that is to leave uas but is in use. They lower what uas asks of the bridge. Each is a write to sysfs that ends
 * with the attachment. uasd does none of them.
 */

/* Prints the commands with the present values, weakest first; nothing for other disks. */
void gentler_print(const struct ctl *c, const struct view *v);
