/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/* Kept policy (`uasctl policy`), as sys/state/settings.h says: "VID:PID:SERIAL=uas force". */

/* 1 if there is a kept policy for this disk, and it; 0 if not; -errno. */
int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced);

/* Every kept policy with its key; returns 0 or -errno, or what fn returned below 0. */
int policy_each(const struct roots *r, int (*fn)(const char *key, enum policy p, bool forced, void *data), void *data);

/*
 * port: another disk of the same name is there, and this one is meant. POLICY_AUTO takes the line away. Durable in both places on
 * return. Returns 0 or -errno, nothing changed then.
 */
int policy_store(const struct roots *r, const struct facts *f, bool port, enum policy p, bool forced);
/* The same for a disk that is not plugged in, by its key. */
int policy_store_id(const struct roots *r, const char *id, enum policy p, bool forced);
