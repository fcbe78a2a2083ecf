/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "term/json.h"

/*
 * Lines in fstab and crypttab with a name of this interface's disk that may disappear with its
 * driver: a list of json_name(). A file that cannot be read counts as empty.
 */
json_object *mentions_read(const struct roots *roots, const char *interface);
void mentions_print(json_object *names);
