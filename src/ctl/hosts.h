/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/options.h"

/* Runs `uasctl list` on all machines of o->host, "a,b,c", at the same time, and prints one list.
 * words: verb and arguments. Returns the highest exit status, reported. */
int hosts_list(const struct options *o, char **words);
