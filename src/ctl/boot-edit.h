/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "ctl/context.h"

/*
 * Changes usb-storage.quirks= in the file of a boot place. It changes only a file whose form is
 * known completely. That is one line with the kernel command line, one GRUB_CMDLINE_LINUX= in
 * quotes, or a file of our own in modprobe.d.
 */
struct boot_edit {
        const struct boot_place *place;
        char *text;      /* of the file; "" if ours in modprobe.d does not exist */
        size_t from, to; /* of the command line in the text */
        size_t start,
                end; /* of the last word usb-storage.quirks=; equal: the place where it belongs */
        struct {
                size_t start, end;
        } former[8]; /* the words before it, which the kernel ignores: a change removes them */
        size_t n_former;
        char *value;      /* of all these words in one (core/quirk-join.h); NULL: there is none */
        struct stat seen; /* of the file that was read; all 0: there is none */
};
void boot_edit_done(struct boot_edit *e);

/*
 * Reads the file; backup: its first version, which boot_edit_write() has kept. Returns 0 or -errno.
 * -EUCLEAN: the form is not known, and ret_why is a clause with the reason. -ENOENT: there is no
 * file.
 */
int boot_edit_read(const struct roots *roots, const struct boot_place *p, bool backup,
                   struct boot_edit *ret, const char **ret_why);

/*
 * Returns NULL if the machine has booted with the words of that file, or a clause why not. The
 * words of usb-storage.quirks= do not count, since they may have been changed since.
 */
const char *boot_edit_not_booted(const struct roots *roots, const struct boot_edit *e);

/* Returns the text with this value of the word; NULL: without the word. */
char *boot_edit_text(const struct boot_edit *e, const char *value);
/* Prints the line of both texts that differs. */
void boot_edit_print(const struct boot_edit *e, const char *text);

/*
 * Replaces the file in one step. The first version is kept as a backup, which `restored` removes:
 * nothing of ours is left then, and our file in modprobe.d goes, too. Returns 0, or -errno and the
 * old file. -ESTALE: it is not the file that was read.
 */
int boot_edit_write(const struct roots *roots, const struct boot_edit *e, const char *text,
                    bool restored);

#define BOOT_BACKUP ".uasd-backup"
