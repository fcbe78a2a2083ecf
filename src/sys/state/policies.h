/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/* Kept policy (`uasctl policy`), stored as in sys/state/settings.h: "VID:PID:SERIAL=uas force". */

/* Returns 1 and the kept policy of this disk, 0 if there is none, or -errno. */
int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced);

/* Calls fn for every kept policy with its key. Returns 0, -errno, or the negative result of fn. */
int policy_each(const struct roots *r, int (*fn)(const char *key, enum policy p, bool forced, void *data), void *data);

/*
 * Stores a policy durably in both places; POLICY_AUTO removes the line. port: only for this disk, since another one has the same
 * name. Returns 0, or -errno and changes nothing.
 */
int policy_store(const struct roots *r, const struct facts *f, bool port, enum policy p, bool forced);
/* The same for a disk that is not plugged in, by its key. */
int policy_store_id(const struct roots *r, const char *id, enum policy p, bool forced);
