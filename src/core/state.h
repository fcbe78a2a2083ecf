/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/disk.h"

/* What happens to a disk now, besides what is decided for it. */
struct standing {
        bool switching; /* a uasd-switch is at work on it */
        bool held;      /* the udev helper holds it */
        bool wanted;    /* uasd wants to switch it; false where no uasd runs */
        bool used_up;   /* uasd wants that, and has no try left */
};

/* Returns the state that this comes to. The one place where it is derived: uasd and a uasctl without uasd both ask here. */
enum state state_derive(const struct disk *d, const struct standing *s);
