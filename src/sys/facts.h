/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * Fills what usb_disk_read() leaves: quirks parameter, whether uas can be had, policy (kept, configuration, udev
 * properties), verdict, history, override. Never fails: what cannot be found out stays at its default.
 */
void facts_complete(const struct roots *r, const struct config *c, struct facts *f);
