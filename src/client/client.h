/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sys/io/roots.h"

/* The machine that a program looks at, and how it may ask the daemon there. */
struct client {
        struct roots roots; /* none with host */
        const char *host;   /* [USER@]HOST, asked by ssh; NULL: this machine */
        bool ask_password;
};
