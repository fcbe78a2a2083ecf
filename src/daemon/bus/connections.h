/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The system bus and the private socket. */
int bus_new(struct manager *m, struct bus **ret);
