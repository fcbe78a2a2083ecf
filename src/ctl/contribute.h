/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "core/history.h"
#include "ctl/context.h"
#include "term/json.h"
#include "term/terminal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints what this machine knows about the bridge of a disk, as a contribution. */
int report_hwdb(const struct ctl *c, const struct view *v);
