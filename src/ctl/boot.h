/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "core/quirk-slips.h"
#include "ctl/context.h"

enum boot_form {
        BOOT_ONE_LINE, /* the kernel command line */
        BOOT_GRUB,     /* a shell script with GRUB_CMDLINE_LINUX= */
        BOOT_ENTRIES,  /* an entry for each kernel, which uasctl does not change */
        BOOT_MODPROBE, /* our own file in modprobe.d */
};

/* A file from which the kernel gets its parameters. */
struct boot_place {
        enum boot_form form;
        const char *at; /* below /etc */
        const char *path;
        const char *(*command)(const struct roots *roots); /* see boot_place_command() */
};
extern const struct boot_place boot_place_modprobe;

/* Returns the file with the kernel command line: the first that the machine has booted with, else
 * the first. NULL: not known. */
const struct boot_place *boot_place_find(const struct roots *roots);

/* Returns the command to run after a change, or words for one that is not known. NULL: none is
 * needed. */
const char *boot_place_command(const struct roots *roots, const struct boot_place *p);

#define BOOT_PLACE_MAX 512
/* Sentences: where this word for the kernel belongs on this machine, and the command to run
 * afterwards. Returns ret. */
char *boot_place(const struct ctl *c, const char *word, char *ret, size_t size);
/*
 * A sentence: on which driver a disk of the running system starts at the next boot, if it is to
 * leave uas; "" for other disks. command: with the command that changes it. Returns ret.
 */
char *boot_next(const struct ctl *c, const struct view *v, bool command, char *ret, size_t size);
/* The field "Next boot" of such a disk; nothing for others. */
void boot_next_print(const struct ctl *c, const struct view *v);

/* After a change of a file that the initramfs contains: says that the initramfs still has the old
 * one. */
void say_initramfs_is_old(const struct ctl *c);
