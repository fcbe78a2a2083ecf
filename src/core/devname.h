/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Names under which a file of the administrator may know a disk, and which of them a change of the driver can
 * take away. */

enum devname {
        DEVNAME_LASTS,  /* by UUID, label, port, USB serial number; or no name of a disk */
        DEVNAME_KERNEL, /* sda1 */
        DEVNAME_DRIVER, /* made of what the disk says in VPD pages or by ATA commands: usb-storage asks for none
                           of the former, quirks forbid the latter */
        DEVNAME_DISKSEQ,
        _DEVNAME_MAX,
};

/* name: as it stands in fstab. */
enum devname devname_of(const char *name);
/* What may become of it, a clause; NULL: nothing. */
const char *devname_why(enum devname v);
