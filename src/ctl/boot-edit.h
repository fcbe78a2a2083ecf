/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "ctl/boot-place.h"

/*
 * Changes usb-storage.quirks= in the file of a boot place. It changes only a file whose form is known completely. That is one
 * line with the kernel command line, one GRUB_CMDLINE_LINUX= in quotes, or a file of our own in modprobe.d.
 */
struct boot_edit {
        const struct boot_place *place;
        char *text;        /* of the file; "" if ours in modprobe.d does not exist */
        size_t start, end; /* of the word usb-storage.quirks=; equal: the place where it belongs */
        char *value;       /* of that word; NULL: there is none */
        mode_t mode;
        uid_t uid;
        gid_t gid;
};
void boot_edit_done(struct boot_edit *e);

/*
 * Reads the file. Returns 0 or -errno. -EUCLEAN: the form is not known, and ret_why is a clause with the reason. -ENOENT: there
 * is no file.
 */
int boot_edit_read(const struct roots *r, const struct boot_place *p, struct boot_edit *ret, const char **ret_why);
/* The same for the first version of the file, which boot_edit_write() has kept. Returns -ENOENT if it has kept none. */
int boot_edit_read_backup(const struct roots *r, const struct boot_place *p, struct boot_edit *ret, const char **ret_why);

/* Returns the text with this value of the word; NULL: without the word. */
char *boot_edit_text(const struct boot_edit *e, const char *value);
/* Prints the line of both texts that differs. */
void boot_edit_print(const struct boot_edit *e, const char *text);

/*
 * Replaces the file in one step. The first version is kept as a backup, which `restored` removes: nothing of ours is left then,
 * and our file in modprobe.d goes, too. Returns 0, or -errno and the old file.
 */
int boot_edit_write(const struct roots *r, const struct boot_edit *e, const char *text, bool restored);

#define BOOT_BACKUP ".uasd-backup"
