/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-slips.h"
#include "ctl/context.h"
#include <sys/stat.h>

/* The policies of disks, written into the file of a boot place. They report errors. Each returns an
 * enum uasd_exit. */

/* --kernel --write */
int policy_write(struct ctl *c, const char *what, const char *policy);
/* The same for each disk of the running system with which UAS has failed, in a file that needs no
 * further command. */
int policy_write_failed(struct ctl *c);
