/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* Asks for a password on the terminal where no desktop does (pkttyagent(1)). 0 if there is none to be had. */
pid_t agent_start(void);
void agent_stop(pid_t *agent);
