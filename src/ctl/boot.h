/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "core/quirk-slips.h"
#include "ctl/ctl.h"

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

/* ---- parts of `policy --kernel`, which report errors. Each returns an enum uasd_exit. ---- */

/* what: a disk, or NULL for all stored policies */
int policy_kernel(struct ctl *c, const char *what);
/* --kernel --write */
int policy_write(struct ctl *c, const char *what, const char *policy);
/* The same for each disk of the running system with which UAS has failed, in a file that needs no
 * further command. */
int policy_write_failed(struct ctl *c);
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

/* ---- quirks-say.c ---- */

#define QUIRK_SLIPS_MAX 32

/* Lists the text that was meant as quirks entries for the bridge of f, or for any (NULL), and that
 * the kernel ignores. */
size_t quirk_slips_for(const struct quirk_lines *l, const struct facts *f,
                       struct quirk_slip ret[static QUIRK_SLIPS_MAX]);
/* Warns of all of it. */
void quirk_slips_say(const struct quirk_lines *l);
/* Prints it in the field Quirks, which `first` begins. */
void quirk_slips_print(const struct quirk_slip *slips, size_t n, bool first);

/*
 * The disk is on uas, and is to go to `target`. Writes a sentence if the kernel's use of TRIM ends
 * with that: how it stays. Else
 * "". To be read before the disk goes. Returns ret.
 */
#define TRIM_LOST_MAX 512
char *trim_lost(const struct ctl *c, const struct view *v, enum driver target, char *ret,
                size_t size);
void say_trim_is_lost(const struct ctl *c, const struct view *v, enum driver target);
