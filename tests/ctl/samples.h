/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/view.h"
#include "common/util.h"

/* Views as a daemon would return them. */
struct view sample_view(const char *interface, const char *block, const char *serial);
void sample_user(struct view *v, enum user_kind kind, const char *device, const char *where);
