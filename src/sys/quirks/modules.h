/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/keepoff.h"
#include "sys/io/roots.h"

/*
 * The uas module: through libkmod, or by PID 1 in the service, which may not load modules. No shell
 * runs, so a module with an install line is not loaded.
 */

int uas_module_state(const struct roots *roots, enum uas_module *ret);
/*
 * -ENOENT: no such module. -EPERM: install line. -EACCES: blacklisted, and this process may not
 * load it itself. A blacklist is meant only for aliases, but modprobe@.service follows it.
 */
int uas_module_load(const struct roots *roots);

/* Fills facts.uas_kept_away and facts.uas_module. */
void facts_take_module(struct facts *f, enum uas_module state);
void facts_complete_module(const struct roots *roots, struct facts *f);
