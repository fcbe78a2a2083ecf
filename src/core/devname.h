/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kinds of names for a disk in files of the administrator. Some disappear when the driver changes. */

enum devname {
        DEVNAME_LASTS,  /* by UUID, label, port, USB serial number; or no name of a disk */
        DEVNAME_KERNEL, /* sda1 */
        DEVNAME_DRIVER, /* from VPD pages or ATA commands: usb-storage reads no VPD pages, and quirks forbid ATA commands */
        DEVNAME_DISKSEQ,
        _DEVNAME_MAX,
};

/* name: as in fstab. */
enum devname devname_of(const char *name);
/* Returns the possible effect of a switch, a clause; NULL: none. */
const char *devname_why(enum devname v);
