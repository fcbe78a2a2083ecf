/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "client/view.h"

/* Parses the answer of ListDisks. -EBADMSG: not understood. */
int remote_parse(sd_bus_message *m, struct courses *ret);

#define JOB_WORD_MAX 24
struct job_step {
        char disk[INTERFACE_NAME_MAX], state[JOB_WORD_MAX], step[JOB_WORD_MAX];
};
/* Parses PropertiesChanged of a job, or the state in that of a disk, after its first argument.
 * Returns 0 or more, or -errno. */
int remote_parse_step(sd_bus_message *m, struct job_step *ret);
