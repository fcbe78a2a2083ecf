/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "ctl/context.h"
#include "sys/state/policy-list.h"

/* Parts of `policy`, which report errors. Each returns an enum uasd_exit. */

/* --kernel; what: a disk, or NULL for all stored policies */
int policy_kernel(struct ctl *c, const char *what);
/* --kernel --write */
int policy_write(struct ctl *c, const char *what, const char *policy);
/* Removes the overrides of uasctl switch, which end when the disk is unplugged. */
void policy_leave_out_overrides(struct views *views);
/* Warns of other disks for which an entry for this one would hold as well. */
void policy_say_alike(const struct views *views, const struct view *one, enum driver target);

/* POLICIES OUTPUT */
json_object *json_policies(const struct policy_rows *p);
