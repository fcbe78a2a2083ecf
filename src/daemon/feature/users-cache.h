/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Makes sure that the users of a disk are those of now, unless it takes long to find them. */
void users_cache_refresh(struct entry *e);
void users_cache_forget(struct entry *e);
