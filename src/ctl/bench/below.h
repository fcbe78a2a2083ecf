/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "ctl/view.h"
#include "sys/roots.h"

/*
 * The disk of ours below a block device: it itself, or what stands below LUKS, LVM or md. NULL: none, or not one alone: then
 * no single link, driver or queue is what is measured.
 */
const struct view *disk_below(const struct roots *r, const struct views *views, dev_t dev);
