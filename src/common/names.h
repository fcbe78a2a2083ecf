/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every well-known name, once. Paths are relative to their root (sys/io/roots.h). */

/* D-Bus */
#define UASD_BUS_NAME "org.uasd1"
#define UASD_BUS_PATH "/org/uasd1"
#define UASD_BUS_MANAGER "org.uasd1.Manager"
#define UASD_BUS_DISK "org.uasd1.Disk"
#define UASD_BUS_JOB "org.uasd1.Job"
/* A disk in the answer of ListDisks, as only uasd knows it: id, state, target, reason_id,
 * verdict, cancelled, inhibited, lease, then code, step and text of the outcome. The last one has
 * the names of its block devices before a switch that is under way. */
#define UASD_BUS_COURSE "(sssssbssissstt)"
/* A user: the id of its disk, then as in the property Busy. */
#define UASD_BUS_COURSE_USER "(ssssssus)"
/* prefix of a UUID in Busy, for a holder that is not a block device */
#define HOLDER_BTRFS "btrfs "
#define UASD_BUS_ERROR_NO_SUCH_DISK "org.uasd1.Error.NoSuchDisk"
#define UASD_BUS_ERROR_INCAPABLE "org.uasd1.Error.Incapable"
#define UASD_BUS_ERROR_REFUSED "org.uasd1.Error.Refused"
#define UASD_BUS_ERROR_FORCE_NEEDED "org.uasd1.Error.ForceNeeded"
#define UASD_BUS_ERROR_IN_USE "org.uasd1.Error.InUse"
#define UASD_BUS_ERROR_STOPPING "org.uasd1.Error.Stopping"

/* Kernel drivers, modules and their places in sysfs */
#define DRIVER_NAME_BOT "usb-storage"
#define DRIVER_NAME_UAS "uas"
#define SYSFS_USB_DEVICES "bus/usb/devices"
#define SYSFS_USB_DRIVERS "bus/usb/drivers"
#define MODULE_STORAGE "usb_storage"
/* The module that the DSM package of bb-qq/uas installs */
#define MODULE_OF_DSM "/var/packages/uas/target/uas/uas.ko"
#define SYSFS_DRIVERS_PROBE "bus/usb/drivers_probe"
#define SYSFS_COMPATIBLE "firmware/devicetree/base/compatible"
#define SYSFS_STORAGE_STATE "module/usb_storage/initstate"
#define SYSFS_QUIRKS "module/usb_storage/parameters/quirks"
#define SYSFS_DELAY_USE "module/usb_storage/parameters/delay_use"

/* Below /run */
#define RUN_DIR "uasd"
#define RUN_HOLD RUN_DIR "/hold" /* one file for each interface whose disks are held */
/* one record and one lock for each interface that is being switched */
#define RUN_SWITCH RUN_DIR "/switch"
#define RUN_ATTACHMENT RUN_DIR "/attachment" /* changes made to this plugged-in device */
#define RUN_ATTACHMENT_LOCK RUN_DIR "/attachment.lock"
/* strings of a plugged-in device, because reading them may hang */
#define RUN_STRINGS RUN_DIR "/strings"
#define RUN_PRIVATE_SOCKET RUN_DIR "/private"
#define RUN_BOOT_LOCK RUN_DIR "/boot.lock"
/* F_SETLK: no child inherits it, and a test does not take it */
#define RUN_DAEMON_LOCK RUN_DIR "/uasd.lock"
#define RUN_QUIRKS_LOCK RUN_DIR "/quirks.lock"
#define RUN_LOG RUN_DIR "/log"       /* messages from times without journald and syslogd */
#define RUN_QUIRKS RUN_DIR "/quirks" /* our entries in the quirks parameter since the initramfs */
#define KEY_QUIRKS "quirks"
/* our entry in it for a bind, by the process with the lock */
#define RUN_QUIRKS_BIND RUN_DIR "/quirks.bind"
/* position up to which the kernel's messages have been evaluated */
#define RUN_KMSG RUN_DIR "/kmsg"
/* a file for each event that is not passed to the hooks yet: their environment */
#define RUN_EVENT RUN_DIR "/event"
#define RUN_INITRAMFS RUN_DIR "/initramfs" /* the history in the initramfs of this kernel */
/* in the initramfs: a device is waited for, so nothing is held any more */
#define RUN_WAITED_FOR RUN_DIR "/waited-for"
#define RUN_HOLD_ALLOWED "systemd/generator/uasd-hold" /* link made by the generator */
#define RUN_PID1_SOCKET "systemd/private"
/* a directory that exists if systemd is PID 1: sd_booted(3) */
#define RUN_SYSTEMD_BOOTED "systemd/system"
#define RUN_SYSTEM_BUS_SOCKET "dbus/system_bus_socket"
#define RUN_JOURNALD "systemd/journal"
#define RUN_UDEV_DATA "udev/data"

/* Below /dev */
#define DEV_SYSLOG "log" /* the socket of syslogd */

/* Below /etc and /usr/lib, and stored state */
#define ETC_PATH "/etc"
#define LIB_PATH "/usr/lib"
#define CONF_FILE "uasd/uasd.conf"
#define CONF_DIR "uasd/uasd.conf.d"
#define INITRAMFS_MARK "uasd/initramfs" /* below /etc: this is an initramfs, made with our hook */
#define STATE_DIR "lib/uasd"            /* below /var */
#define ETC_DIR "uasd"
#define ETC_TAKE_MOUNTS ETC_DIR "/release.d" /* the hooks of TakeMounts= */
#define ETC_EVENT ETC_DIR "/event.d"         /* the hooks of uasd-event@.service */
#define STATE_POLICY "policy"
#define STATE_TRIM "trim"
#define STATE_HISTORY "history"
#define STATE_BENCH STATE_DIR "/bench" /* results of uasctl bench */

#define PROGRAM_SMARTCTL "/usr/sbin/smartctl"
#define PROGRAM_SYSTEMCTL "/usr/bin/systemctl"
/* Profiles of uasctl bench, NAME.fio: below /etc, and those of the package, relative to /usr/lib */
#define BENCH_DIR "uasd/bench"
#define BENCH_SHARE "../share/uasd/bench"
#define BENCH_DIR_SHOWN "/etc/" BENCH_DIR
#define BENCH_SHARE_SHOWN "/usr/share/uasd/bench"
#define BENCH_SUFFIX ".fio"

#define PROGRAM_UASD PKGLIBEXECDIR "/uasd"
#define OPTION_EVENT "--event" /* of uasd, for the hooks */
#define PROGRAM_SWITCH PKGLIBEXECDIR "/uasd-switch"
#define PROGRAM_DECIDE PKGLIBEXECDIR "/uasd-hold-decide"
#define PROGRAM_PID1 PKGLIBEXECDIR "/uasd-pid1"
#define PROGRAM_BENCH PKGLIBEXECDIR "/uasctl-bench"
/* only in the bundle */
#define BRIDGES_HWDB "/usr/lib/udev/hwdb.d/61-uasd.hwdb" /* udev builds its database from it */
#define BRIDGES_TEXT PKGLIBEXECDIR "/../hwdb.d/61-uasd.hwdb"
#define SWITCH_KEPT "KEPT" /* its message: the claim is held */

/* Units */
#define UNIT_SERVICE "uasd.service"
#define UNIT_BOOT_ENTRY "uasd-boot-entry.service"
#define UNIT_MODULE "uasd-module.service"
#define UNIT_EVENT(name) "uasd-event@", name, ".service" /* for path_join() */
#define UNIT_MODPROBE(module) "modprobe@" module ".service"
#define UNIT_RELEASE_TIMER "uasd-release@%s.timer" /* instance: interface, unit-name escaped */

/* udev properties */
#define PROP_HOLD "UASD_HOLD"
#define PROP_CAPABLE "UASD_CAPABLE"
#define PROP_VERDICT "UASD_VERDICT"
/* 1: in the initramfs, udev has processed an event of the bound interface */
#define PROP_ASKED "UASD_ASKED"
#define PROP_POLICY "UASD_POLICY"
#define PROP_TRIM "UASD_TRIM"           /* 1: TRIM is on by uasctl trim */
#define PROP_TRIM_MODE "UASD_TRIM_MODE" /* value that the rule writes to provisioning_mode */
#define PROP_TRIM_MAX "UASD_TRIM_MAX"   /* ... and to discard_max_bytes */
#define PROP_TRIM_SET "UASD_TRIM_SET"   /* 1: uasd has set the present mode */
#define PROP_DB_CHIP "UASD_DB_CHIP"     /* of 61-uasd.hwdb */
#define PROP_DB_SAYS "UASD_DB_"         /* followed by a number from 1 on */

/* Kernel command line */
#define CMDLINE_OFF "uasd=off"
#define CMDLINE_NO_HOLD "uasd.hold=0"

/* Journal fields */
#define FIELD_DISK "UASD_DISK"
#define FIELD_INTERFACE "UASD_INTERFACE"
#define FIELD_USB_ID "UASD_USB_ID" /* VID:PID:SERIAL: the disk itself, at any port */
#define FIELD_STATE "UASD_STATE"
#define FIELD_FROM "UASD_FROM"
#define FIELD_TO "UASD_TO"
#define FIELD_REASON "UASD_REASON"
#define FIELD_STEP "UASD_STEP"
#define FIELD_UID "UASD_UID"     /* of the user who asked */
#define FIELD_PARTS "UASD_PARTS" /* the message, for common/sentence.h */

/* Journal message ids, one for each ending; each has a catalog entry */
#define MESSAGE_SWITCHED "b47b9c49de4a4effa326bd9e95b92095"
#define MESSAGE_WAITING "8c049c7f0618493b8b93f653d6de2dd3"
#define MESSAGE_ROLLED_BACK "485663fd8cba451386a4bfcaa34f8941"
#define MESSAGE_FAILED "b845dbb2cdf54ee0922d79bd08f92c2e"
#define MESSAGE_STRANDED "8b68d3c1d462461887b4c56a0a0e9468"
#define MESSAGE_UNPLUGGED "064210c224a4473fa2a9cf99cec45f88"
#define MESSAGE_RELEASED "d4fe968a57ac429daabfed7963469721"
#define MESSAGE_HELD "50a4d723bdc74d2f92ab653dc399a681"
#define MESSAGE_DISTRUSTED "fb889702e9134914a1d0f03a2eb84e7e"
#define MESSAGE_TROUBLE "83e1dbb2cf0d4b4ca1cdb5d5591c3908"
#define MESSAGE_NOT_UAS "3c03c6c227ba4d2e84e16b7e13f4d5cf"
#define MESSAGE_CLEARED "abf811e4be434b489084747a16b26e3d"
#define MESSAGE_TRIAL_PASSED "5f07edea107b4f2493b98da086b46864"
#define MESSAGE_TRIM "90ddeac04e784660a180fd0ee438d6b3"
#define MESSAGE_EJECTED "75852296c0fd45eaad098b14379175bd"
#define MESSAGE_BOOT_ENTRY "6dfe4b588ff24e04a8460990eca611d9"
#define MESSAGE_ASKED "830fb722bf834331a05545b2a1fedadd"
