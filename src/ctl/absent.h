/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/history.h"
#include "ctl/context.h"

/*
 * True if `what` is VID:PID:SERIAL of a disk that is none of these; ret_id: as it is on record, where it also may have "@PORT"
 * behind it.
 */
bool absent_named(const struct ctl *c, const struct views *views, const char *what, char ret_id[static HISTORY_KEY_MAX]);
/* The same for log, which also takes the serial number alone of a disk on record or in the journal. */
bool absent_recorded(const struct ctl *c, const struct views *views, const char *what, char ret_id[static HISTORY_KEY_MAX]);
