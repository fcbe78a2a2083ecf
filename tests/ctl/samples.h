/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/view.h"
#include "common/util.h"
#include "term/json.h"

/* Views as a daemon would return them. */
struct view sample_view(const char *interface, const char *block, const char *serial);
/* The document of one disk, with this additional member; key: NULL: none. */
json_object *sample_json(const struct view *v, const char *key, json_object *value);
void sample_user(struct view *v, enum user_kind kind, const char *device, const char *where);
