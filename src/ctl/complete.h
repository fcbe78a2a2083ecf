/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * For the completions of the shells: prints what may be the last word, which is at the cursor. Each
 * line is a word, perhaps with a tab and its description. A line that begins with ":" names
 * something that the shell completes itself: ":files", ":directories", ":hosts", ":command N" (word
 * N begins another command), or ":nospace" (the word goes on).
 *
 * words: those after uasctl, NULL-terminated. Of "--option=value", bash makes three. root: as in
 * struct ctl. Returns NULL, or the word "bench": then uasctl-bench has to be asked.
 */
char **complete_line(const char *root, char **words);
