/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/*
 * With what error uas gave up on this interface ("2-1:1.0") since its device was plugged in, by what /dev/kmsg still has:
 * negative errno; 0 if nothing is said of it, or the log is not ours to read.
 */
int uas_probe_error(const struct roots *r, const char *interface);
