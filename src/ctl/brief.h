/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"

/* A disk in few words, for people. JSON and the bus keep the words of the states. */

#define BRIEF_MAX 512

/* "480 Mbit/s", "5 Gbit/s". Returns ret. */
char *brief_speed(unsigned mbps, char *ret, size_t size);
/* "7 min", "12 s", rounded up. Returns ret. */
char *brief_time(usec_t usec, char *ret, size_t size);
/* "ok", "trial, 7 min left", "waiting: /mnt/a", "BOT only". Translated. Returns ret. */
char *brief_state(const struct view *v, char ret[static BRIEF_MAX]);
/* True: uasctl status has advice about this disk. */
bool brief_advice(const struct view *v);
