/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sys/io/roots.h"

/* Whether this is an initramfs. */
bool in_initramfs(const struct roots *r);

/* The kernel command line: true if the word stands on it. In the initramfs the rd. form counts as well. */
bool cmdline_has(const struct roots *r, const char *word);
