/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sys/io/roots.h"

/* The machine that a program reads, and the way to the daemon there. */
struct client {
        struct roots roots; /* unset with host */
        const char *host;   /* [USER@]HOST, over ssh; NULL: this machine */
        bool ask_password;
};
