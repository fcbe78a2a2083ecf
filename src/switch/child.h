/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"

/* Called in a child that may claim the disk. The child dies with its parent, and keeps only its end
 * of the pipe. */
void child_begin(struct transaction *t, pid_t parent, int other_end);
/* Waits until the children of a killed uasd-switch are dead and their claims gone. The caller has
 * the lock of the record. */
void children_end(const struct transaction *t);
/* Waits for a word of a child, for a shorter time if a signal waits. */
bool child_answers(int fd, struct awake deadline);
