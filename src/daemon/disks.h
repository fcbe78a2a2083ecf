/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The disks that uasd knows. */
struct entry *disk_find(struct manager *m, const char *interface);
/* Returns true if another disk has the same identifier: only their ports distinguish them. */
bool disk_has_twin(const struct entry *e);
