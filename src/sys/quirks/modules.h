/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/keepoff.h"
#include "sys/io/roots.h"
#include "sys/quirks/module-file.h"

/*
 * The uas module: the file of Module= (NULL: none), or the module of the system. libkmod loads
 * the latter, or PID 1 for the service, which may not load modules. No shell runs, so a module with
 * an install line is not loaded. Without libkmod, or without its indexes, the system's
 * modprobe or insmod loads it. usb-storage is never unloaded or replaced.
 */

/* Returns 0, or -errno if it cannot be known now. A child asks libkmod: its libcrypto, of 2 MB,
 * would stay in this process after dlclose(). */
int uas_module_state(const struct roots *roots, const char *file, enum uas_module *ret);
/* Returns 0, or -errno and the reason. */
int uas_module_load(const struct roots *roots, const char *file, char why[static MODULE_WHY_MAX]);

/* Fills facts.uas_kept_away and facts.uas_module. */
void facts_take_module(struct facts *f, enum uas_module state);
void facts_complete_module(const struct roots *roots, const char *file, struct facts *f);
