/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The words of the public contract as enums, each with a table of strings. The words are the same
 * on D-Bus, in the journal, in JSON and in the manual.
 *
 * NAME_to_string() never returns NULL for a valid value; NAME_from_string() returns the value, or
 * -EINVAL.
 */

/* In sysfs and descriptors SuperSpeed begins here. */
#define SUPER_SPEED_MBPS 5000

enum driver {
        DRIVER_NONE,        /* "none"; null in JSON */
        DRIVER_USB_STORAGE, /* BOT */
        DRIVER_UAS,
        DRIVER_OTHER, /* usbfs, vfio, ums-*: facts.driver_name has its name */
        _DRIVER_MAX,
};

enum policy {
        POLICY_AUTO,
        POLICY_UAS,
        POLICY_USB_STORAGE,
        POLICY_IGNORE,
        _POLICY_MAX,
};

/* The source of a policy; a later one goes before an earlier one. */
enum policy_source {
        POLICY_BY_NOBODY,
        POLICY_BY_CONFIG,
        POLICY_BY_UDEV,
        POLICY_BY_USER, /* uasctl policy */
        _POLICY_SOURCE_MAX,
};

enum state {
        STATE_SETTLED,   /* on its target, or to be left on its driver */
        STATE_HELD,      /* its mounts are deferred until uasd has decided */
        STATE_WAITING,   /* to be switched when it has no users */
        STATE_SWITCHING, /* uasd-switch is at work */
        STATE_TRIAL,     /* switched, on trial */
        STATE_FAILED,    /* tried on this attachment, and rolled back */
        STATE_UNBOUND,   /* no driver */
        STATE_IGNORED,   /* belongs to another driver, or policy ignore */
        STATE_INCAPABLE, /* does not offer UAS */
        _STATE_MAX,
};

enum verdict {
        VERDICT_UNKNOWN,
        VERDICT_GOOD,
        VERDICT_BAD,
        _VERDICT_MAX,
};

/* Why the target was chosen: the rows of core/policy.c, the first that fits counts. Stable words
 * (`reason_id`). */
enum reason {
        REASON_BAD_DESCRIPTORS,
        REASON_NO_UAS,   /* no 08/06/62 alternate setting */
        REASON_NO_PIPES, /* UAS alternate setting without all four pipe usage descriptors */
        REASON_OTHER_DRIVER,
        REASON_UNAUTHORIZED, /* the USB device or interface is not authorized */
        REASON_JUST_UNBOUND, /* without a driver for a moment */
        REASON_POLICY_IGNORE,
        REASON_NO_BOT,        /* supports only UAS, so there is no choice */
        REASON_FORCE_NEEDED,  /* policy uas, but the kernel's own table forbids it */
        REASON_OVERRIDE,      /* uasctl switch, until it is unplugged */
        REASON_NOT_UAS,       /* it fails under usb-storage: uas is not the cause, and it stays */
        REASON_TRIAL_FAILED,  /* policy uas, but a trial failed */
        REASON_POLICY,        /* uas or usb-storage by policy */
        REASON_UAS_KEPT_AWAY, /* blacklist, install line or missing module */
        REASON_DISTRUSTED,    /* by our history */
        REASON_VERDICT_BAD,   /* hwdb */
        REASON_QUIRK,         /* the user's quirks string contains u */
        REASON_KERNEL_TABLE,
        REASON_KERNEL_RULE, /* a rule in uas-detect.h */
        REASON_NO_STREAMS,  /* SuperSpeed controller without streams */
        REASON_NO_SG,
        REASON_UNKNOWN_BRIDGE, /* Unknown= decides */
        REASON_FASTEST,        /* uas, nothing forbids it */
        _REASON_MAX,
};

/* The result of a request for the module uas. */
enum uas_module {
        UAS_MODULE_UNKNOWN,
        UAS_MODULE_THERE, /* loaded or built in */
        UAS_MODULE_LOADABLE,
        UAS_MODULE_BLACKLISTED,
        UAS_MODULE_INSTALL_LINE, /* an install line in modprobe.d */
        UAS_MODULE_MISSING,      /* this kernel has none, or it is not installed */
        UAS_MODULE_NO_LOADER, /* it is installed, but there is no libkmod, modprobe or insmod for it
                               */
        UAS_MODULE_REFUSED,   /* the file of Module= */
        _UAS_MODULE_MAX,
};

/* The ways to use a disk. */
enum user_kind {
        USER_MOUNT,
        USER_SWAP,
        USER_HOLDER, /* device mapper, md, bcache: /sys/block/.../holders */
        USER_OPEN,   /* a process has the node open */
        USER_LOOP,
        USER_CLAIM, /* only O_EXCL shows it */
        _USER_KIND_MAX,
};

const char *driver_to_string(enum driver v);
/* The same, but "" for DRIVER_NONE. */
const char *driver_or_empty(enum driver v);
const char *policy_to_string(enum policy v);
const char *policy_source_to_string(enum policy_source v);
/* "uas, by uasd.conf": a policy and its source. Returns ret. */
char *policy_text(enum policy v, enum policy_source source, char *ret, size_t size);
const char *state_to_string(enum state v);
const char *verdict_to_string(enum verdict v);
const char *reason_to_string(enum reason r);
const char *user_kind_to_string(enum user_kind v);

int driver_from_string(const char *s);
int policy_from_string(const char *s);
int policy_source_from_string(const char *s);
int state_from_string(const char *s);
int verdict_from_string(const char *s);
int reason_from_string(const char *s);
int user_kind_from_string(const char *s);

/* Defines these functions for an enum `name` with a table of strings `name_names`. */
const char *table_word(const char *const *names, size_t n, unsigned v);
int table_find(const char *const *names, size_t n, const char *s);
#define DEFINE_TO_STRING(name)                                                                     \
        const char *name##_to_string(enum name v)                                                  \
        {                                                                                          \
                return table_word(name##_names, sizeof(name##_names) / sizeof(*name##_names),      \
                                  (unsigned) v);                                                   \
        }
#define DEFINE_STRINGS(name)                                                                       \
        DEFINE_TO_STRING(name)                                                                     \
        int name##_from_string(const char *s)                                                      \
        {                                                                                          \
                return table_find(name##_names, sizeof(name##_names) / sizeof(*name##_names), s);  \
        }
