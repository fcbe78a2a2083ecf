/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/*
 * The step of a running switch: one line on the terminal behind stderr, which the next one overwrites. Without a terminal, and
 * with quiet, nothing is shown. Call progress_clear() before any other output.
 */
void progress_open(bool quiet);
void progress_show(const char *disk, const char *step); /* step: "" for none */
/* Any text, cut to the width of the terminal. */
void progress_line(const char *text);
void progress_clear(void);
