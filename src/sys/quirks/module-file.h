/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "sys/io/roots.h"

/*
 * A file with the uas module, compressed or not. libkmod reads it. Paths are those of the machine,
 * and begin with '/'. `why` gets the reason of an error: a sentence without its end.
 */

#define MODULE_WHY_MAX 384
/* Writes a reason, and returns the error. */
int module_refuse(char why[static MODULE_WHY_MAX], int error, const char *format, ...)
        _printf_(3, 4);

/* The symbols that the file uses with a version, and how many of these the modules of the running
 * kernel have too. The kernel compares all of them when it loads the file. */
struct module_compared {
        unsigned symbols, compared;
};

/*
 * Returns 0 for a regular file of root that no other user may write. It must be the module uas, and
 * nothing in it contradicts that it was built for the running kernel. Loads nothing.
 */
int module_file_check(const struct roots *roots, const char *path, struct module_compared *ret,
                      char why[static MODULE_WHY_MAX]);
/*
 * Checks it, and loads it. No flag lets the kernel ignore anything. Returns -EPERM or -EACCES if
 * the kernel does not let this process load it; -EACCES if the reason is not known here.
 */
int module_file_insert(const struct roots *roots, const char *path,
                       char why[static MODULE_WHY_MAX]);

/*
 * Finds a module of the running kernel in the text modules.dep, or in a folder without one. file:
 * "uas.ko". Returns 0, -ENOENT, or another -errno.
 */
#define MODULE_PATH_MAX 256
int module_file_find(const struct roots *roots, const char *file, char ret[static MODULE_PATH_MAX]);
