/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "ctl/context.h"

/* The file that the kernel command line of this machine comes from; NULL: none is known. */
const char *boot_file(const struct ctl *c);

#define BOOT_PLACE_MAX 256
/* Where a parameter of the kernel belongs on this machine, and what has to be done then: sentences. Returns ret. */
char *boot_place(const struct ctl *c, char *ret, size_t size);
/* True for a disk that the running system is on and that is to leave uas. */
bool boot_place_wanted(const struct view *v);
/* The field Boot of such a disk; nothing for others. */
void boot_place_print(const struct ctl *c, const struct view *v);

/* For a change of what initramfs-tools copies: says that the initramfs does not have it yet. */
void say_initramfs_is_old(const struct ctl *c);
