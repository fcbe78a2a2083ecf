/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* Starts a child that may claim the disk, see child_fork(): it dies with its parent, and has only
 * the roots and its end of the socket. A child that hangs stays behind. It must not keep the lock
 * of the switch. */
pid_t switch_child(struct transaction *t, int *ret_fd);
/* Waits until the children of a killed uasd-switch are dead and their claims gone. The caller has
 * the lock of the record. */
void children_end(const struct transaction *t);
/* Returns the end of a wait for a child: that of the hold, if that is earlier. */
struct awake child_deadline(const struct transaction *t, usec_t budget);
/* Waits for a word of a child or its end, for a shorter time if a signal waits. */
bool child_answers(int fd, struct awake deadline);
/* Waits as well, and reads the word. Returns 1, 0 if there is none in time, or -ECANCELED if the
 * child was killed. */
int child_read(int fd, void *ret, size_t size, struct awake deadline);
