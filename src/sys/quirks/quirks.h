/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/config.h"
#include "core/facts.h"
#include "core/keepoff.h"
#include "core/quirks.h"
#include "sys/io/roots.h"

/* ---- param.c ---- */

/*
 * The quirks parameter of usb_storage. A change is a read, a write, and a read to check it. The
 * kernel has no compare-and-swap, so all uasd programs take a lock. Entries of other programs stay
 * as they are.
 */

/*
 * Takes the machine-wide lock; closing the descriptor releases it. Waits at most `usec`, time
 * awake. If a killed uasd-switch has left the entry of its bind in the parameter, the entry is
 * removed now.
 */
int quirks_lock(const struct roots *roots, usec_t usec);
int quirks_param_read(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);
/* Returns the inode of the parameter. Each load of usb_storage makes a new one, without our former
 * entries. 0: not loaded. */
uint64_t quirks_param_inode(const struct roots *roots);
/* Puts our entry first. -ENOSPC: no room. -ENOENT: usb_storage is not loaded. */
int quirks_param_push(const struct roots *roots, const char *entry);
/* Removes the entry. Returns 0 also if it is not there. */
int quirks_param_pop(const struct roots *roots, const char *entry);

/*
 * Adds an entry for the time of a bind; the caller has the lock. The entry is recorded before it is
 * added, since only its text finds it for the removal. -EBUSY: an earlier one is still there.
 */
int quirks_bind_begin(const struct roots *roots, const char *entry);
int quirks_bind_end(const struct roots *roots);
/* Returns 1 and the recorded entry, 0 and "", or -errno. Without the lock it may be of a present
 * bind, or a leftover. */
int quirks_bind_read(const struct roots *roots, char ret[static QUIRK_ENTRY_MAX]);

/* ---- keepoff.c ---- */

/*
 * Our entries in the quirks parameter keep some disks off uas (core/keepoff.h). An initramfs-tools
 * hook asks for them, and a script in the initramfs reports which ones came into force. From then
 * on uasd keeps them up to date.
 */

/*
 * Reads the statements of configuration, kept policies and records about disks, for this kernel
 * (NULL: the running one). They do not say which drivers a disk supports: kept_disks_plugged() adds
 * that for each plugged-in disk. Returns 0 or -errno.
 */
int kept_disks_read(const struct roots *roots, const struct config *c, const char *kernel,
                    struct kept_disks *ret);
/* Adds it for all plugged-in disks that support only UAS, which are read from sysfs. Returns 0 or
 * -errno. */
int kept_disks_read_plugged(const struct roots *roots, struct kept_disks *k);

/*
 * Adds our missing entries to the parameter. Removes those that are not wanted any more, but only
 * if `known`: before that /var may not be mounted, or the plugged-in disks may not have been read.
 * ret: our present entries, and the disks without room. Returns 1 if the parameter was changed, 0,
 * or -errno: -ENOENT usb_storage is not loaded, -ETIMEDOUT a bind is under way and was not waited
 * for.
 */
int keepoff_apply(const struct roots *roots, const struct kept_disks *kept, bool known,
                  struct keepoff *ret);

/* Reads all of our entries that stay in the parameter; empty: none. False: the record is for
 * another parameter, or for none. */
bool keepoff_own_all(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);
/* Reads the entry for these disks; empty: none. */
void keepoff_own(const struct roots *roots, uint16_t vid, uint16_t pid,
                 char ret[static QUIRK_ENTRY_MAX]);

/* ---- modprobed.c ---- */

/* Sorted behind every other file: the last `quirks=` wins. */
#define MODPROBE_FILE "zzz-uasd.conf"

/*
 * Reads the `quirks` of usb_storage from modprobe.d of /etc, /run, /usr/local/lib and /usr/lib, and
 * from the kernel command line. The order is that of kmod (modprobe.d(5), modprobe(8)). Returns 0
 * or -ENOMEM; `ret` is to be freed with quirk_lines_done().
 */
int modprobe_quirk_lines(const struct roots *roots, struct quirk_lines *ret);

/*
 * Reads the `quirks` with which modprobe would load usb_storage, from modprobe.d of /etc and
 * /usr/lib: an initramfs copies these. The kernel command line, which would win, is not read.
 * Returns 0, -ENOSPC if it is longer than the kernel takes, or -ENOMEM.
 */
int modprobe_quirks(const struct roots *roots, char ret[static QUIRKS_MAX + 1]);

/*
 * Reads the sources of the quirks parameter: /sys/module/usb_storage, modprobe.d, /proc/cmdline,
 * /run/uasd/quirks of the initramfs, the records of present switches. Changes nothing. Returns 0 or
 * -ENOMEM; `ret` is to be freed with quirk_facts_done().
 */
int quirk_facts_read(const struct roots *roots, struct quirk_facts *ret);

/* ---- modules.c ---- */

/*
 * The uas module: through libkmod, or by PID 1 in the service, which may not load modules. No shell
 * runs, so a module with an install line is not loaded.
 */

int uas_module_state(const struct roots *roots, enum uas_module *ret);
/*
 * -ENOENT: no such module. -EPERM: install line. -EACCES: blacklisted, and this process may not
 * load it itself. A blacklist is meant only for aliases, but modprobe@.service follows it.
 */
int uas_module_load(const struct roots *roots);

/* Fills facts.uas_kept_away and facts.uas_module. */
void facts_take_module(struct facts *f, enum uas_module state);
void facts_complete_module(const struct roots *roots, struct facts *f);
