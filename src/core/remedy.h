/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The commands that uasd and uasctl name for a user to run. Each is a promise. It runs only
 * programs of the host's own file system, and touches no other disk. It can be pasted as it is
 * printed, and works on this machine. tests/unit/test-remedy.c checks that of every row.
 * tests/ctl/test-remedies.py checks that no text has another command.
 */
enum remedy {
        REMEDY_NONE,
        /* end a use of a disk */
        REMEDY_UMOUNT,
        REMEDY_UMOUNT_ALL, /* a device with several mounts */
        REMEDY_SWAPOFF,
        REMEDY_LOOP,
        REMEDY_STOP_UNIT,
        REMEDY_KILL,
        REMEDY_KILL_HARD, /* SIGTERM does not end the process */
        REMEDY_POOL,
        /* stop a device that stands on a disk */
        REMEDY_VOLUME,
        REMEDY_CRYPT,
        REMEDY_VERITY,
        REMEDY_INTEGRITY,
        REMEDY_MULTIPATH,
        REMEDY_MAPPING,
        REMEDY_ARRAY,
        REMEDY_BCACHE,
        /* of uasd and the system, without an operand */
        REMEDY_START,
        REMEDY_START_OPENRC,
        REMEDY_START_INIT,
        REMEDY_RESTART,
        REMEDY_RESTART_OPENRC,
        REMEDY_RESTART_INIT,
        REMEDY_WHY_NOT,
        REMEDY_HWDB,
        REMEDY_HWDB_UDEVADM,
        REMEDY_GRUB_DEBIAN,
        REMEDY_GRUB2,
        REMEDY_GRUB,
        REMEDY_GRUBBY,
        REMEDY_KERNEL_INSTALL,
        REMEDY_INITRAMFS_TOOLS,
        REMEDY_MKINITCPIO,
        REMEDY_DRACUT,
        /* reads only */
        REMEDY_KERNEL_LOG,
        _REMEDY_MAX,
};

struct remedy_row {
        const char *words;     /* the command; "%s": its operand, if it has one */
        const char *program;   /* NULL: the shell has it */
        const char *service;   /* what it asks, below /run; NULL: the kernel */
        const char *touches;   /* another thing that it ends or changes; NULL: none */
        enum remedy otherwise; /* the row for a system without that program or service */
};

extern const struct remedy_row remedy_rows[_REMEDY_MAX];
/* The commands of uasctl, and others that only read, in sentences. Words in capitals and "%s" are
 * operands. NULL ends it. */
extern const char *const remedy_forms[];

#define REMEDY_OPERAND_MAX 1024
#define REMEDY_COMMAND_MAX (REMEDY_OPERAND_MAX + 64)

/*
 * Returns true if a command may have this operand: all of it is shown as it is, and it is no
 * option. A name with control characters, a backslash or malformed UTF-8 is not: it is escaped
 * where it is printed, and then names something else.
 */
bool remedy_operand_valid(const char *operand);
/* Writes the command for a shell, as a whole or not at all. operand: NULL for a row without one.
 * Returns ret. */
char *remedy_command(enum remedy id, const char *operand, char *ret, size_t size);
