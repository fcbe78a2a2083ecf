/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"
#include "core/facts.h"
#include "core/link.h"
#include "sys/io/roots.h"

/*
 * USB mass storage interfaces as sysfs shows them now. Reads only attributes that take no device
 * lock. The only exceptions are the three USB strings, if they are requested (`strings`) and not
 * kept yet (strings_kept()).
 */

struct usb_disk { /* one interface and the disk behind it */
        struct facts facts;
        char host[16];
        struct lun *luns;
        size_t n_luns;
        bool strings_anew; /* all strings were read from the device, so they can be kept */
};

void usb_disk_done(struct usb_disk *d);

/*
 * Reads one interface. strings: also manufacturer, product and serial, kept or from the device.
 * Returns 1, 0 if it is no mass storage interface (class 08, subclass 06) for uasd, -ENODEV if it
 * has gone, or another -errno. Policy, verdict, quirks and the like stay zero until
 * facts_complete() of sys/facts.h.
 */
int usb_disk_read(const struct roots *roots, const char *interface, bool strings,
                  struct usb_disk *ret);

/* Lists the names of all USB interfaces that may be ours. Returns the count or -errno; strv_free()
 * frees the list. */
int usb_disk_enumerate(const struct roots *roots, char ***ret_interfaces);

/* Returns the present driver of the interface. */
enum driver usb_disk_driver(const struct roots *roots, const char *interface);

/* Finds the interface of a block device (/sys/block/NAME or a partition's name). -ENOENT: not
 * behind USB storage. */
int usb_disk_of_block(const struct roots *roots, const char *block,
                      char ret_interface[static INTERFACE_NAME_MAX]);

/* Reads the attachment of the USB device whose directory is `path`. -ENOENT: there is no device. */
int usb_attachment_read(int at, const char *path, struct attachment_id *ret);
/* Reads the controller's device above a root hub ("usb2"): "0000:00:14.0". False, and ret
 * unchanged, if there is none. */
bool usb_controller(const struct roots *roots, const char *root_hub, char *ret, size_t size);
/* Returns the link speed of a USB device ("2-1") or root hub, in Mbit/s; 0: unknown. Takes no
 * device lock. */
unsigned usb_speed(const struct roots *roots, const char *device);

/*
 * Reads the SCSI devices below an interface's directory: hostN/targetN:C:T/N:C:T:L, with their
 * block devices and partitions. An interface without a host has none. Returns 0 or -errno; the list
 * is to be freed with luns_free().
 */
int luns_read(int interface_fd, char ret_host[static 16], struct lun **ret, size_t *ret_n);

/*
 * The three strings of a USB device, kept in /run/uasd/strings as long as it stays at its address.
 * They never change there, and reading its attributes may hang. A file of another device, or an
 * incomplete one, does not count.
 */

/*
 * Fills manufacturer, product and serial of the device with this attachment, vid and pid. Returns
 * false and changes nothing if they are not kept.
 */
bool strings_kept(const struct roots *roots, struct facts *f);
/* Returns 0, or -errno: then the next read asks sysfs again. attachments_prune() of
 * sys/state/attachment.h removes the file. */
int strings_keep(const struct roots *roots, const struct facts *f);
