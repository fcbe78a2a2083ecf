/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* A child reads the strings of a device, since the kernel has it locked while it configures it.
 * Returns true if f has them. Otherwise they are being read, and the interface is posted when they
 * are there. */
bool strings_known(struct manager *m, struct facts *f);
/* The interface has gone. */
void strings_drop(struct manager *m, const char *interface);
/* Waits for all strings that are being read, at most one second. */
void strings_wait(struct manager *m);
