/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "ctl/context.h"

/* The file with the kernel command line of this machine; NULL: not known. */
const char *boot_file(const struct ctl *c);

#define BOOT_PLACE_MAX 256
/* Sentences: where a kernel parameter belongs on this machine, and the command to run afterwards. Returns ret. */
char *boot_place(const struct ctl *c, char *ret, size_t size);
/* True for a disk that the running system is on, and that is to leave uas. */
bool boot_place_wanted(const struct view *v);
/* The field Boot of such a disk; nothing for others. */
void boot_place_print(const struct ctl *c, const struct view *v);

/* After a change of a file that initramfs-tools copies: says that the initramfs still has the old one. */
void say_initramfs_is_old(const struct ctl *c);
