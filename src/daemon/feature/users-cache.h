/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Updates the users of a disk, unless the search takes long. */
void users_cache_refresh(struct entry *e);
void users_cache_forget(struct entry *e);
