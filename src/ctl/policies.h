/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "ctl/context.h"
#include "sys/state/policy-list.h"

/* `uasctl policy` without a disk: every policy that somebody has set. Returns an enum uasd_exit. */
int policies_show(const struct ctl *c);
/* Prints the policy of a disk that is not plugged in. */
int policies_show_id(const struct ctl *c, const char *id);
/* {"version":1,"policies":[...]}; NULL: no memory. */
json_object *json_policies(const struct policy_rows *p);
