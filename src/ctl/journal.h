/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include "sys/io/roots.h"

/* What everybody does who reads the journal. */

/* root: where it is, a folder like that of the roots; NULL: the machine's. One without entries opens as well. */
int journal_open(const char *root, sd_journal **ret);
void journal_closep(sd_journal **j);
int journal_match(sd_journal *j, const char *field, const char *value);
/* Calls f for each entry that matches, from where the journal stands. 0 or -errno. */
int journal_each(sd_journal *j, void (*f)(sd_journal *j, void *data), void *data);
/* A copy of the field's value; NULL: it has none. */
char *journal_value(sd_journal *j, const char *field);
/* This boot, as _BOOT_ID has it. */
int journal_boot(const struct roots *r, char ret[static SD_ID128_STRING_MAX]);
