/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/kmsg.h"
#include "core/quirks.h"
#include "core/types.h"

/*
 * The abilities of an interface, from the raw descriptors in sysfs
 * (/sys/bus/usb/devices/X/descriptors: the 18-byte device descriptor, then every configuration).
 * The checks and their order are those of drivers/usb/storage/uas-detect.h.
 */
struct uas_caps {
        bool bot;          /* alternate setting 0 is 08/06/50 */
        bool uas;          /* one alternate setting is 08/06/62 */
        bool pipes;        /* and it has all four pipe usage descriptors */
        bool alone;        /* its configuration has no other interface */
        uint8_t uas_alt;   /* the first such alternate setting */
        uint8_t max_power; /* bMaxPower, raw; 0 distinguishes an ASM1153 from its predecessors */
        unsigned status_streams; /* streams of the status pipe; 0 below SuperSpeed */
};

/*
 * Reads the interface of one configuration. The bytes come from the device, so each one is checked.
 * configuration: bConfigurationValue, or 0 for the first one. Returns 0, -EBADMSG if the bytes are
 * no descriptors, or -ENOENT if they do not contain the interface.
 */
int descriptors_parse(const void *data, size_t size, uint8_t configuration, uint8_t interface,
                      struct uas_caps *ret);

/* A USB string descriptor holds 126 UTF-16 units: 378 bytes of UTF-8 at most. */
#define USB_STRING_MAX 384
#define INTERFACE_NAME_MAX 64 /* "2-1.4.3:1.0" */

/*
 * One stay of a USB device on the bus. If a controller is probed again, its bus may get the same
 * number, and the numbers of its devices begin again at 1. The inode of a device's directory in
 * sysfs is never used again until the next boot: kernfs counts its nodes, in 64 bits, or in 31 on a
 * 32-bit kernel. Before Linux 4.14 it uses the lowest free number, so only the other two count.
 */
struct attachment_id {
        unsigned busnum, devnum;
        uint64_t inode; /* 0: unknown, in an argument or a record without it */
};

static inline bool attachment_id_same(struct attachment_id a, struct attachment_id b)
{
        return a.busnum == b.busnum && a.devnum == b.devnum &&
               (a.inode == b.inode || a.inode == 0 || b.inode == 0);
}

/* Writes "2-5-4711": bus, device and, if it is known, inode. Returns ret. */
#define ATTACHMENT_ID_MAX 48
char *attachment_id_text(struct attachment_id id, char ret[static ATTACHMENT_ID_MAX]);
/* Reads it again. False: it is something else, and ret is unchanged. */
bool attachment_id_parse(const char *s, struct attachment_id *ret);

/*
 * Everything that a decision needs to know about one interface. sys/ fills it, core/ reads it.
 * Strings from the device are unchanged, except the serial number (serial_normalize()): a caller
 * that prints them must make them harmless.
 */
#define DISTRUST_REASON_MAX 240

struct facts {
        char interface[INTERFACE_NAME_MAX]; /* "2-1:1.0" */
        char port[INTERFACE_NAME_MAX];      /* "2-1" */
        unsigned busnum, devnum;            /* these three: struct attachment_id */
        uint64_t inode;
        uint8_t interface_number;
        uint8_t configuration;
        uint16_t vid, pid, bcd;
        unsigned speed_mbps;
        unsigned max_speed_mbps; /* highest speed by its descriptors (core/link.h); 0: unknown, or
                                    not read */
        char usb_version[8];     /* "3.20" */
        char manufacturer[USB_STRING_MAX], product[USB_STRING_MAX], serial[USB_STRING_MAX];

        struct uas_caps caps;
        int caps_error; /* 0, or the negative errno of descriptors_parse() */

        enum driver driver;
        char driver_name[32]; /* name in the `driver` link; empty: none */
        bool authorized;
        bool just_unbound; /* another program is switching it at this moment */

        char controller[32];        /* driver of the host controller: "xhci_hcd", "dwc2" */
        char controller_device[64]; /* device of the host controller: "0000:00:14.0" */
        bool no_sg;                 /* known to have no scatter-gather */
        bool no_streams;            /* known to have no streams */

        bool uas_kept_away; /* uas is not loaded, and may not or cannot be loaded */
        enum uas_module
                uas_module; /* the reason for that; UAS_MODULE_UNKNOWN if it was not checked */
        unsigned kernel;    /* LINUX() of the kernel that runs; 0: unknown */
        char quirks[QUIRKS_MAX + 1];      /* the parameter, without its newline */
        char quirks_own[QUIRK_ENTRY_MAX]; /* our entry in it, which keeps such disks off uas; empty:
                                             none */

        enum policy policy; /* of this disk; POLICY_AUTO if none is set */
        enum policy_source policy_source;
        bool policy_forced;    /* --force: overrides also the kernel's own table */
        enum verdict verdict;  /* from the hwdb; from our history if the hwdb has none */
        bool verdict_by_past;  /* the verdict is from our history */
        bool verdict_disputed; /* the hwdb's sources contradict each other */
        bool distrusted;   /* our history: it failed on uas with this firmware, port and kernel */
        bool trial_failed; /* it failed in a trial: policy uas does not move it to uas again */
        bool trial_open;   /* a trial has begun in this boot, and has not ended */
        bool trial_ended;  /* a trial has begun in this boot, and ended without a result */
        bool trial_passed;
        enum driver override_target; /* of uasctl switch; DRIVER_NONE: none */
        bool override_forced;
        enum driver unknown_target;                /* Unknown= of the configuration */
        char distrust_reason[DISTRUST_REASON_MAX]; /* the failure */
        char distrust_date[12];                    /* "2026-11-20"; empty: unknown */
        char distrust_kernel[65]; /* kernel at the failure, as in uname(2); empty: unknown */
        bool cleared;        /* our history: it failed on uas, and then under usb-storage as well.
                                distrust_reason has how */
        const char *trouble; /* how it fails under usb-storage on this attachment, of sign_what();
                                NULL: it does not */
        enum blame trouble_cause; /* what is to blame for that for certain; BLAME_NONE: unknown, but
                                     not uas */
        bool initramfs_old; /* distrusted, but the initramfs has an older record and may move it to
                               uas */
};

/* Returns true for two USB devices that only their ports distinguish: VID:PID and serial, or its
 * lack, are the same. */
bool facts_twins(const struct facts *a, const struct facts *b);

static inline struct attachment_id facts_attachment_id(const struct facts *f)
{
        return (struct attachment_id){f->busnum, f->devnum, f->inode};
}

/* The shortest name for a command that a message prints: "2-1" if the port has only this one. */
static inline const char *facts_name(const struct facts *f)
{
        return f->caps.alone ? f->port : f->interface;
}

/* Returns true if both, at the same port, are of one stay of a device on the bus. */
static inline bool facts_same_attachment(const struct facts *a, const struct facts *b)
{
        return attachment_id_same(facts_attachment_id(a), facts_attachment_id(b));
}

/* Removes what ends when the disk is unplugged. A policy is for every attachment. */
static inline void facts_for_good(struct facts *f)
{
        f->override_target = DRIVER_NONE;
        f->override_forced = false;
        f->just_unbound = false;
        f->authorized = true;
        if (f->driver == DRIVER_OTHER)
                f->driver = DRIVER_NONE;
}

void facts_copy_strings(const struct facts *from, struct facts *to);

/*
 * Brings a serial number, as the device reports it or as a user writes it, into the one form that
 * all programs use. That is udev's ID_SERIAL_SHORT, since uasd-hold has no other. The rule is that
 * of usb_id in systemd-udevd. Blanks at the ends go, and blanks in the middle become "_". So does
 * each character but letters, digits, "#+-.:=@_" and the backslash of "\\x". A serial number with a
 * comma, a control character or a byte above 0x7f does not count: it becomes "". A second call
 * changes nothing.
 */
void serial_normalize(char *serial);

/* Returns true if the device can be faster than its link, according to its descriptors. */
static inline bool facts_slow_link(const struct facts *f)
{
        return f->max_speed_mbps > f->speed_mbps;
}

/* Writes "2-1:1.0@2-5-4711": the name of an attachment in /run. */
#define ATTACHMENT_MAX (INTERFACE_NAME_MAX + ATTACHMENT_ID_MAX)
char *facts_attachment(const struct facts *f, char ret[static ATTACHMENT_MAX]);

/* Returns true for a disk that offers UAS completely: uas can drive it. */
static inline bool facts_offer_uas(const struct facts *f)
{
        return f->caps.uas && f->caps.pipes;
}

/* Returns true for a disk that only uas can drive. */
static inline bool facts_uas_alone(const struct facts *f)
{
        return f->caps.uas && !f->caps.bot;
}

/* Fills the bridge of quirks.h. Its strings point into the facts. */
void facts_bridge(const struct facts *f, struct bridge *ret);
