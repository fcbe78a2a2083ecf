/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sys/io/roots.h"

/* Whether uasd.service is wanted by something and not masked, as far as unit files and the command line say. */
bool service_enabled(const struct roots *r);
