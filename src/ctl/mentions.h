/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "core/history.h"
#include "term/json.h"
#include "term/terminal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Lines in fstab and crypttab with a name of this interface's disk that may disappear with its
 * driver: a list of json_name(). A file that cannot be read counts as empty.
 */
json_object *mentions_read(const struct roots *roots, const char *interface);
void mentions_print(json_object *names);
