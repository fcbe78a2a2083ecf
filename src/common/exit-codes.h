/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The exit statuses of uasctl, uasctl-bench and uasd-switch (uasctl(1), EXIT STATUS). */
enum uasd_exit {
        UASD_EXIT_OK = 0, /* done, or already so */
        UASD_EXIT_FAILED = 1,
        UASD_EXIT_USAGE = 2,
        UASD_EXIT_DEFERRED = 3, /* will happen when the disk is free */
        UASD_EXIT_NO_DISK = 4,
        UASD_EXIT_INCAPABLE = 5,
        UASD_EXIT_REFUSED = 6,     /* by kernel table, policy or verdict */
        UASD_EXIT_ROLLED_BACK = 7, /* tried, and rolled back */
        UASD_EXIT_UNAUTHORIZED = 8,
        UASD_EXIT_TOOL_MISSING = 77,
        /* Of uasctl inhibit, about its command, as in shells. */
        UASD_EXIT_NOT_RUN = 126,
        UASD_EXIT_NOT_FOUND = 127,
        UASD_EXIT_BY_SIGNAL = 128, /* plus the number of the signal */
};
