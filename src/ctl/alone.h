/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/*
 * Without uasd, root's uasctl runs uasd-switch itself. It does not wait for a disk in use: only
 * uasd does that.
 */

typedef void (*alone_step_fn)(const char *disk, const char *step, void *data);
/* Runs uasd-switch with an option (NULL: none) for the selected disk and a target (NULL: none).
 * The outcome always has a code. */
void alone_run(const struct ctl *c, const char *option, const char *target, alone_step_fn step,
               void *data, struct outcome *ret);
/* Says what keeps the selected disk, that only uasd waits until it is free, and how uasd is started
 * here. Returns the exit status: the request is not kept. */
int alone_refuse(const struct ctl *c, const struct outcome *o);
