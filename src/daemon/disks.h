/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The disks that are there. */
struct entry *disk_find(struct manager *m, const char *interface);
/* Another disk has its identifier: only their ports tell them apart. */
bool disk_has_twin(const struct entry *e);
