/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sys/io/roots.h"

/* Returns true if a unit wants uasd.service and it is not masked, according to unit files and the command line. */
bool service_enabled(const struct roots *r);
