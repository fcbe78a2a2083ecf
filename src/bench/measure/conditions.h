/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/bench.h"
#include "client/view.h"
#include "sys/io/roots.h"

/* The conditions of a measurement, without which a result means nothing. From sysfs, /proc and udev's record. */

void conditions_machine(const struct roots *r, struct bench_conditions *c);
/* The disk, and the LUN that is measured. */
void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c);
/* The queue of the disk under its driver, after the bind. A value that cannot be read stays unknown. */
void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c);

/* "[mq-deadline] none": the name in brackets. Returns ret, "" without one. */
char *scheduler_chosen(const char *line, char *ret, size_t size);
