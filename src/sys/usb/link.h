/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/link.h"
#include "sys/io/roots.h"

/*
 * Reads the ports and hubs between this disk and its controller, and the controller's speed. Uses only links and attributes in
 * /sys/bus/usb/devices that take no lock; missing ones are unknown. From `f` it uses the interface, the speed and the possible
 * speed.
 */
void link_read(const struct roots *r, const struct facts *f, struct link_facts *ret);
