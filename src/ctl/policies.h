/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "ctl/context.h"
#include "sys/state/policy-list.h"

/* Parts of `policy`. They report errors. Each returns an enum uasd_exit. */

/* Prints every policy that is set. */
int policies_show(const struct ctl *c);
/* Prints the policy of a disk that is not plugged in. */
int policies_show_id(const struct ctl *c, const char *id);
/* --kernel; what: a disk, or NULL for all stored policies */
int policy_kernel(struct ctl *c, const char *what);

/* POLICIES OUTPUT */
json_object *json_policies(const struct policy_rows *p);
