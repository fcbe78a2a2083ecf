/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "core/facts.h"

/* Everything a decision knows of a disk, a member a field of struct facts. NULL: no memory. */
json_object *facts_to_json(const struct facts *f);

/*
 * Read back. What this version does not know is left out; what is not there is nothing, and counted in *ret_missing. 0, or -EBADMSG
 * for a value that no field can have; *ret_bad is then the field's name.
 */
int facts_from_json(json_object *o, struct facts *ret, size_t *ret_missing, const char **ret_bad);
