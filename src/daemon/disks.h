/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The disks that uasd knows. */
struct entry *disk_find(struct manager *m, const char *interface);
/* Returns true if another disk has the same identifier: only their ports distinguish them. */
bool disk_has_twin(const struct entry *e);

/*
 * Makes a pipe for a program. fn is called when the last copy of the program's end is closed, for any reason; what it writes has
 * no meaning. ret owns the other end.
 */
int pipe_until_closed(sd_event *event, sd_event_io_handler_t fn, void *data, sd_event_source **ret, int *ret_end);
