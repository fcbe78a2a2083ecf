/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/context.h"

/* Prints the users of a disk, one a line. */
void say_users(const struct view *v);
/* The same, and the commands that free it. */
void say_in_use(const struct ctl *c, const struct view *v);
/* The same for a switch that waits, and what ends that. Returns the exit status. */
int tell_deferred(const struct ctl *c, const char *label, const struct view *v);
struct freeing_list {
        char **commands;
        size_t n;
        char **left_out; /* a sentence for each use without a command */
        size_t n_left_out;
};
/*
 * Lists the commands that free a disk, in the order in which they work: first the users, then what
 * stands on the disk, the top first. Empty for the disk of the running system.
 */
void freeing_read(const struct roots *roots, const struct disk *d, struct freeing_list *ret);
void freeing_done(struct freeing_list *list);
