/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "ctl/context.h"

enum boot_form {
        BOOT_ONE_LINE, /* the kernel command line */
        BOOT_GRUB,     /* a shell script with GRUB_CMDLINE_LINUX= */
        BOOT_MODPROBE, /* our own file in modprobe.d */
};

/* A file from which the kernel gets its parameters. */
struct boot_place {
        enum boot_form form;
        const char *at; /* below /etc */
        const char *path, *how;
        const char *then; /* to be done after a change; NULL: nothing */
};
extern const struct boot_place boot_place_modprobe;

/* The file with the kernel command line of this machine; NULL: not known. */
const struct boot_place *boot_place_find(const struct roots *r);

#define BOOT_PLACE_MAX 256
/* Sentences: where a kernel parameter belongs on this machine, and the command to run afterwards. Returns ret. */
char *boot_place(const struct ctl *c, char *ret, size_t size);
/* True for a disk that the running system is on, and that is to leave uas. */
bool boot_place_wanted(const struct view *v);
/* The field Boot of such a disk; nothing for others. */
void boot_place_print(const struct ctl *c, const struct view *v);

/* After a change of a file that the initramfs contains: says that the initramfs still has the old one. */
void say_initramfs_is_old(const struct ctl *c);
