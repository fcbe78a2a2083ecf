/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>
#include <systemd/sd-bus.h>

#include "common/util.h"

/* Sets an error whose text is a sentence in parts. Returns its negative errno. */
_printf_(3, 4) int bus_error_set(sd_bus_error *e, const char *name, const char *format, ...);
_printf_(3, 0) int bus_error_set_valist(sd_bus_error *e, const char *name, const char *format,
                                        va_list ap);
/* Answers with that error: its text in English, and then in parts, for uasctl. */
int bus_error_send(sd_bus_message *call, const sd_bus_error *e);
