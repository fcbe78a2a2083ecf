/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "ctl/options.h"

/*
 * At which step a switch is: one line of the terminal behind stderr, written over and wiped out again. Elsewhere,
 * and with --quiet, none. Whatever else is printed needs progress_clear() before.
 */
void progress_open(const struct options *o);
void progress_clear(void);

/*
 * What PropertiesChanged of a job tells, behind its first argument: shown, if it is about `disk` (NULL: any).
 * What cannot be read is not shown.
 */
void progress_take(sd_bus_message *m, const char *disk);
