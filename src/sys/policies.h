/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/roots.h"

/*
 * Kept policy (`uasctl policy`), a line a disk: "VID:PID:SERIAL=uas", wherever it is plugged in. A disk without a serial, or with one that
 * another disk has as well, is told from that one by its port alone, as in its record (core/history.h): "VID:PID:@0000:00:14.0/ss/1.4=uas
 * force". Such a line goes before the one without a port. /etc/uasd/policy is what is read, since /var may not be there when a boot has to know; /var/lib/uasd/policy is its copy.
 */

/* 1 if there is a kept policy for this disk, and it; 0 if not; -errno. */
int policy_lookup(const struct roots *r, const struct facts *f, enum policy *ret, bool *ret_forced);

/* Every kept policy with its key; returns 0 or -errno, or what fn returned below 0. */
int policy_each(const struct roots *r, int (*fn)(const char *key, enum policy p, void *data), void *data);

/*
 * port: another disk of the same name is there, and this one is meant. POLICY_AUTO takes the line away. Durable in both places on return. Returns 0 or -errno, nothing changed then.
 */
int policy_store(const struct roots *r, const struct facts *f, bool port, enum policy p, bool forced);
