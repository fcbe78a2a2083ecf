/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include "sys/io/roots.h"

/* Functions for all readers of the journal. */

/* root: the folder with the journal, like that of the roots, or NULL for this machine. An empty journal opens as well. */
int journal_open(const char *root, sd_journal **ret);
void journal_closep(sd_journal **j);
int journal_match(sd_journal *j, const char *field, const char *value);
/* Calls f for each matching entry from the present position. 0 or -errno. */
int journal_each(sd_journal *j, void (*f)(sd_journal *j, void *data), void *data);
/* A copy of the field's value; NULL: no such field. */
char *journal_value(sd_journal *j, const char *field);
/* The id of this boot, in the format of _BOOT_ID. */
int journal_boot(const struct roots *r, char ret[static SD_ID128_STRING_MAX]);
