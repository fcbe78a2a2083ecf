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
        struct outcome outcome; /* the owner sets its code to -1; its end is put in here */
};
/* Takes what it has written by now; each line but its end goes to take(), and none after that. */
void switch_output_read(struct switch_output *o, void (*take)(const char *line, void *data), void *data);
