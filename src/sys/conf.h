/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "sys/roots.h"

/*
 * Configuration: /usr/lib/uasd/uasd.conf, then /etc/uasd/uasd.conf, then uasd.conf.d/NAME.conf of both in the order of their
 * names (a name in /etc hides the same name in /usr/lib). What cannot be read is told to `fn` (may
 * be NULL) with file and line, and left out. Returns 0, or -ENOMEM.
 */
typedef void (*conf_complain_fn)(const char *file, int line, const char *what, void *data);
int conf_load(const struct roots *r, struct config *ret, conf_complain_fn fn, void *data);

/* The kernel command line: true if the word stands on it. In the initramfs the rd. form counts as well. */
bool cmdline_has(const struct roots *r, const char *word);

/*
 * Fills what usb_disk_read() leaves: quirks parameter, whether uas can be had, policy (kept, configuration, udev
 * properties), verdict, history, override. Never fails: what cannot be found out stays at its default.
 */
void facts_complete(const struct roots *r, const struct config *c, struct facts *f);
