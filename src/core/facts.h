/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/descriptors.h"
#include "core/quirks.h"
#include "core/types.h"

/* A USB string descriptor holds 126 UTF-16 units: 378 bytes of UTF-8 at most. */
#define USB_STRING_MAX 384
#define INTERFACE_NAME_MAX 64 /* "2-1.4.3:1.0" */

/*
 * Everything a decision needs to know of one interface, as it was found. Filled by sys/, read by core/.
 * Strings from the device are kept as they are: whoever prints them makes them harmless.
 */
struct facts {
        char interface[INTERFACE_NAME_MAX]; /* "2-1:1.0" */
        char port[INTERFACE_NAME_MAX];      /* "2-1" */
        unsigned busnum, devnum;            /* with the port they name an attachment: new at every plug */
        uint8_t interface_number;
        uint8_t configuration;
        uint16_t vid, pid, bcd;
        unsigned speed_mbps;
        unsigned max_speed_mbps; /* what it could do by its own word (core/bos.h); 0: not known, or not read */
        char usb_version[8];     /* "3.20" */
        char manufacturer[USB_STRING_MAX], product[USB_STRING_MAX], serial[USB_STRING_MAX];

        struct uas_caps caps;
        int caps_error; /* 0, or the negative errno of descriptors_parse() */

        enum driver driver;
        char driver_name[32]; /* as the `driver` link says; empty for none */
        uint8_t alt;          /* current alternate setting */
        bool authorized;
        bool just_unbound; /* somebody is at work on it this very moment */

        char controller[32];        /* driver of the host controller: "xhci_hcd", "dwc2" */
        char controller_device[64]; /* and its device: "0000:00:14.0" */
        bool no_sg;                 /* known to have no scatter-gather */
        bool no_streams;            /* known to have no streams */

        bool uas_kept_away;               /* uas is not loaded and may not or cannot be, ... */
        enum uas_module uas_module;       /* ... as this says; UAS_MODULE_UNKNOWN where nobody has asked */
        char quirks[QUIRKS_MAX + 1];      /* the parameter, without its newline */
        char quirks_own[QUIRK_ENTRY_MAX]; /* an entry in it of ours, which keeps such disks off uas; empty: none */

        enum policy policy; /* of this disk; POLICY_AUTO if nobody said anything */
        enum policy_source policy_source;
        bool policy_forced;   /* --force: also against the kernel's own table */
        enum verdict verdict; /* hwdb; own history where that knows nothing, */
        bool verdict_by_past; /* ... which is then true */
        bool distrusted;      /* own history: it failed on uas with this firmware, port and kernel */
        bool trial_failed;    /* in a trial: uas by policy alone does not bring it back */
        bool trial_open;      /* a trial was begun in this boot, and has not ended */
        bool trial_ended;     /* begun in this boot, and left without a result */
        bool trial_passed;
        enum driver override_target; /* uasctl switch; DRIVER_NONE: none */
        bool override_forced;
        enum driver unknown_target; /* Unknown= of the configuration */
        char distrust_reason[160];  /* what happened */
        char distrust_date[12];     /* "2026-11-20", empty: not known */
        char distrust_kernel[65];   /* the kernel that it happened on, as uname(2) says; empty: not known */
        bool initramfs_old; /* it is distrusted, and the initramfs has an older record, by which it may move the disk to uas */
};

/* True if they are two USB devices that only their ports tell apart: VID:PID and serial, or its lack, are the same. */
bool facts_twins(const struct facts *a, const struct facts *b);

/* True if the device says it could do more than its link does. */
static inline bool facts_slow_link(const struct facts *f)
{
        return f->max_speed_mbps > f->speed_mbps;
}

/* "2-1:1.0@2-5": the disk as it is plugged in now, by which it is known in /run. */
#define ATTACHMENT_MAX (INTERFACE_NAME_MAX + 32)
char *facts_attachment(const struct facts *f, char ret[static ATTACHMENT_MAX]);

/* Off uas it would have no driver at all. */
static inline bool facts_uas_alone(const struct facts *f)
{
        return f->caps.uas && !f->caps.bot;
}

/* What quirks.h wants to know of it. Its strings point into the facts. */
void facts_bridge(const struct facts *f, struct bridge *ret);
