/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * At plug-in uasd acts on the event of the kernel, before udev has a record of the USB device. So the bridge is looked up in the
 * hwdb as udev does it. Does nothing if there is a record. Without a hwdb the verdict does not change.
 */
void facts_complete_hwdb(const struct roots *r, struct facts *f);
