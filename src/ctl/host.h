/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/options.h"

/* Runs uasctl on the machine o->host by ssh, with the same options and these words (verb and
 * arguments). Returns its exit status, or an enum uasd_exit, reported. */
int host_run(const struct options *o, char **words);
