/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/roots.h"

/*
 * udev's database of one device as /run/udev/data/ID holds it ("b8:0", "c189:2"): lines "E:KEY=VALUE", tags "G:" (all ever
 * given) and "Q:" (given at the last event). Read as text, so that what runs at every block event links nothing.
 */

/* 1 and the value; 0 if there is no such property or device; -errno. */
int udevdb_property(const struct roots *r, const char *id, const char *key, char *ret, size_t size);
/* True if the device ever carried the tag. */
bool udevdb_tagged(const struct roots *r, const char *id, const char *tag);
