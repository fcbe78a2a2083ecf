/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Searches by name for users of the disk, in a child, and posts EVENT_USERS. */
void use_probe_start(struct entry *e);
/* Updates the users of a disk, unless the search takes long. */
void users_cache_refresh(struct entry *e);
/* The entry is freed: its searches do not matter any more. */
void users_forget(struct entry *e);
