/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "core/disk.h"

/* Starts uasd-switch; ret_in: a pipe to its stdin, or NULL. */
int spawn_switch(char *const argv[], int *ret_in, int *ret_out, pid_t *ret_pid);
struct switch_output {
        int fd;
        char line[512];
        size_t used;
        struct outcome outcome; /* the owner sets its code to -1; the reader puts the end here */
};
/* Reads all present output. Each line except the end goes to take(), and none after the end. take: NULL if only the
 * end matters. */
void switch_output_read(struct switch_output *o, void (*take)(const char *line, void *data), void *data);
