/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * lease/INTERFACE below /run/uasd: somebody has this disk for himself, and which driver it goes back to. For the attachment
 * of these facts; that of another one is none.
 */

int lease_record(const struct roots *r, const struct facts *f, enum driver restore);
/* 1 and the driver; 0: none, -errno. */
int lease_recorded(const struct roots *r, const struct facts *f, enum driver *ret);
int lease_unrecord(const struct roots *r, const char *interface);
