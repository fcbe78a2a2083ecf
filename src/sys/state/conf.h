/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "sys/io/roots.h"

/*
 * Configuration: /usr/lib/uasd/uasd.conf, then /etc/uasd/uasd.conf, then uasd.conf.d/NAME.conf of
 * both in the order of their names (a name in /etc hides the same name in /usr/lib). Lines that
 * cannot be read are left out and passed to `fn` (may be NULL) with file and number. Returns 0, or
 * -ENOMEM.
 */
typedef void (*conf_complain_fn)(const char *file, int line, const char *what, void *data);
int conf_load(const struct roots *roots, struct config *ret, conf_complain_fn fn, void *data);
