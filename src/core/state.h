/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/* The present work on a disk, in addition to its decision. */
struct standing {
        bool switching; /* a uasd-switch is at work on it */
        bool held;      /* the udev helper holds it */
        bool wanted;    /* uasd wants to switch it; false without a uasd */
        bool used_up;   /* uasd wants that, but has no attempt left */
};

/* Returns the state. Used by uasd, and by uasctl without uasd. */
enum state state_derive(const struct disk *d, const struct standing *s);
