/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "client/view.h"
#include "sys/io/roots.h"

/* What a result was measured on: without that it says nothing. All from sysfs, /proc and udev's record. */

void conditions_machine(const struct roots *r, struct bench_conditions *c);
/* The disk, and the LUN that is measured. */
void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c);
/* What its driver makes of it, once it is on it. What cannot be read is left unknown. */
void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c);

/* "[mq-deadline] none": the one in brackets. Returns ret, "" if there is none. */
char *scheduler_chosen(const char *line, char *ret, size_t size);
