/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* These may free entries: only manager.c calls them, for the queue. */
void rescan(struct manager *m, const char *interface);
void rescan_all(struct manager *m);
