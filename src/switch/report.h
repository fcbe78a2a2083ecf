/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "switch/transaction.h"
#include "sys/users/users.h"

/* The lines that uasd-switch prints: for uasd (--machine), or for a person at the terminal. */
void report_step(const struct transaction *t);
void report_user(const struct transaction *t, const struct user *u);
void report_claim(const struct transaction *t);
void report_end(const struct transaction *t);
/* The result as a line that uasd reads: "END code step text". */
#define END_LINE_MAX 576
void end_line(const struct transaction *t, char ret[static END_LINE_MAX]);
