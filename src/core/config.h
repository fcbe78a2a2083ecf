/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "core/types.h"

/* uasd.conf(5), its meaning. Files are read by sys/state/conf.c; this knows sections and keys alone. */

struct disk_rule { /* [Disk VID:PID] or [Disk VID:PID:SERIAL] */
        uint16_t vid, pid;
        char *serial; /* NULL: every disk of this VID:PID */
        enum policy policy;
};

struct config {
        enum policy policy;         /* Policy=, default auto */
        usec_t quiet_usec;          /* QuietSec=, default 2 s */
        usec_t hold_usec;           /* HoldSec=, default 20 s; 0: never hold */
        enum driver unknown_target; /* Unknown=, default uas */
        usec_t trial_usec;          /* TrialSec=, default 10 min */
        struct disk_rule *rules;
        size_t n_rules;
};

void config_init(struct config *c);
void config_done(struct config *c);

/*
 * One assignment. Returns 0; -EINVAL for a value that cannot be read, -ENOENT for an unknown section or key
 * (both leave the configuration as it was), -ENOMEM.
 */
int config_set(struct config *c, const char *section, const char *key, const char *value);

/* The most particular rule for this disk, else Policy=. A later rule wins over an equal earlier one. */
enum policy config_policy(const struct config *c, uint16_t vid, uint16_t pid, const char *serial);

/* "20", "20s", "500ms", "1min", "infinity" is refused. Returns 0 or -EINVAL. */
int parse_seconds(const char *s, usec_t *ret_usec);
