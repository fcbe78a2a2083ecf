/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/types.h"

/* The meaning of uasd.conf(5). sys/state/conf.c reads the files; this module knows only sections
 * and keys. */

struct disk_rule { /* [Disk VID:PID] or [Disk VID:PID:SERIAL] */
        uint16_t vid, pid;
        char *serial; /* empty: every disk of this VID:PID */
        enum policy policy;
};

struct config {
        enum policy policy;         /* Policy=, default auto */
        usec_t quiet_usec;          /* QuietSec=, default 2 s */
        usec_t hold_usec;           /* HoldSec=, default 20 s; 0: never hold */
        enum driver unknown_target; /* Unknown=, default uas */
        usec_t trial_usec;          /* TrialSec=, default 10 min */
        bool boot_entry_auto; /* BootEntry=, default ask: a person writes the boot entry of a disk
                               */
        bool take_mounts; /* TakeMounts=, default no: what other programs mounted at boot stays */
        char *module;     /* Module=, an absolute path; default NULL: that of the system */
        struct disk_rule *rules;
        size_t n_rules;
};

/* A longer Module= is invalid. */
#define CONFIG_PATH_MAX 256

void config_init(struct config *c);
void config_done(struct config *c);

/*
 * Sets one value. Returns 0, -EINVAL for an invalid value, -ENOENT for an unknown section or key,
 * or -ENOMEM. After an error the configuration is unchanged.
 */
int config_set(struct config *c, const char *section, const char *key, const char *value);

/* Returns the policy of the most specific rule for this disk, else Policy=. A later rule goes
 * before an equal earlier one. */
enum policy config_policy(const struct config *c, uint16_t vid, uint16_t pid, const char *serial);

/* Parses "20", "20s", "500ms", "1min"; "infinity" is invalid. Returns 0 or -EINVAL. */
int parse_seconds(const char *s, usec_t *ret_usec);
