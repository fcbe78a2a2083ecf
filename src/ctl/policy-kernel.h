/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-slips.h"
#include "ctl/context.h"
#include <sys/stat.h>

/* Parts of `policy --kernel`, which report errors. Each returns an enum uasd_exit. */

/* what: a disk, or NULL for all stored policies */
int policy_kernel(struct ctl *c, const char *what);
/* Reports that the disk stays on its driver with any entry. */
int policy_refuse_entry(const struct view *v);
/* For a person who has to change the file: prints the word that gives the disk this driver, and
 * where it belongs. */
void policy_say_words(const struct ctl *c, const struct facts *f, enum driver target);
/* Lists all disks for kernel_line_make(), `first` (may be NULL) before the others. To be freed with
 * free(). */
const struct facts **policy_plugged(const struct views *views, const struct view *first,
                                    size_t *ret_n);
void policy_say_dropped(char *const *dropped);
/* Removes the overrides of uasctl switch, which end when the disk is unplugged. */
void policy_leave_out_overrides(struct views *views);
/* Warns of other disks for which an entry for this one would hold as well. */
void policy_say_alike(const struct views *views, const struct view *one, enum driver target);
