/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * Takes the next argument off a command line, or off the options of a module, as the kernel does (lib/cmdline.c:next_arg): blanks
 * divide, but not between double quotes; quotes around all of it or around its value are taken away. Writes into `args`.
 * Returns what follows, for the next call, or NULL: there was none left. *ret_value is NULL where there is no '='.
 */
char *kernel_next_arg(char *args, char **ret_name, char **ret_value);

/*
 * Whether the name of an argument is `name`. To the kernel and to kmod '-' and '_' are one; modprobe.d(5) says the same of
 * the names of modules.
 */
bool kernel_name_is(const char *argument, const char *name);
