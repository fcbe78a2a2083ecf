/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/*
 * Translates a finished English text of core, uasd or uasd-switch: sentences, and clauses in them. They serve the journal, JSON
 * and the bus as well, and only uasctl knows the reader's language. An unknown part stays English. Returns ret.
 */
char *translate(const char *s, char *ret, size_t size);

#define TRANSLATE_MAX 4096
#define TRANSLATED(s) translate(s, (char[TRANSLATE_MAX]){}, TRANSLATE_MAX)
