/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "client/view.h"

/* Parses the answer of GetManagedObjects. -EBADMSG: not understood. */
int remote_parse(sd_bus_message *m, struct views *ret);
/* Parses the answer of ListDisks. Other members stay empty. The same errors. */
int remote_parse_brief(sd_bus_message *m, struct views *ret);
/* Parses InterfacesAdded. 1 and the disk, 0: something else, -EBADMSG. */
int remote_parse_added(sd_bus_message *m, struct view *ret);
/* Parses PropertiesChanged after its first argument, and updates v. -EBADMSG: v is partly updated.
 */
int remote_parse_changed(sd_bus_message *m, struct view *v);

#define JOB_WORD_MAX 24
struct job_step {
        char disk[INTERFACE_NAME_MAX], state[JOB_WORD_MAX], step[JOB_WORD_MAX];
};
/* The same for a job. */
int remote_parse_step(sd_bus_message *m, struct job_step *ret);
