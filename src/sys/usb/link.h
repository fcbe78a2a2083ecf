/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/link.h"
#include "sys/io/roots.h"

/*
 * The ports and hubs on the way of this disk, and how fast its controller is: links and attributes in /sys/bus/usb/devices that
 * take no lock. What is not there is not known. Of the facts it takes the interface and how fast the device is and could be.
 */
void link_read(const struct roots *r, const struct facts *f, struct link_facts *ret);
