/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "common/gettext.h"
#include "sys/io/roots.h"

#define NO_SWITCH_LOCKS N_("this kernel has no OFD locks, which Linux has since 3.15")

/* Returns true if the kernel has the locks of a switch (sys/state/switch-record.h). */
bool switch_locks_there(const struct roots *roots);
/* Returns why uasd does nothing on this machine, for _(). NULL: it works. */
const char *uasd_off(const struct roots *roots);
