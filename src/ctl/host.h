/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/options.h"

/* Runs uasctl on the machine o->host by ssh, with the same options and these words (verb and
 * arguments). Returns its exit status, or an enum uasd_exit, reported. */
int host_run(const struct options *o, char **words);

/* The command for the shell of the other machine; free it. variables: "NAME=VALUE " or "". */
char *host_command(const struct options *o, char **words, const char *variables);
/* status: of ssh as from waitpid(), or -errno if it did not start. Returns as host_run(). */
int host_status(const char *host, char **words, int status);
