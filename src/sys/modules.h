/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"
#include "sys/roots.h"

/* The uas module, through libkmod; no shell is run, so a module with an install line is not loaded. */

enum module_state {
        MODULE_THERE,    /* loaded or built in */
        MODULE_LOADABLE,
        MODULE_KEPT,     /* blacklisted, or an install line stands in its way */
        MODULE_MISSING,
};

int uas_module_state(const struct roots *r, enum module_state *ret);
/* Loads it in spite of a blacklist, which speaks of aliases alone. -EPERM: install line; -ENOENT: no such module. */
int uas_module_load(const struct roots *r);

/* Fills facts.uas_kept_away. */
void facts_complete_module(const struct roots *r, struct facts *f);
