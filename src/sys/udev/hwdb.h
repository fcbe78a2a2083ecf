/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * At plug-in uasd acts on the kernel's word, and udev may not be done with the USB device: what its record will say of the
 * bridge is looked up as udev does it. Does nothing once there is a record; without a hwdb the verdict stays as it is.
 */
void facts_complete_hwdb(const struct roots *r, struct facts *f);
