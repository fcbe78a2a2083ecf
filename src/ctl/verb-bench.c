/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verb-bench.h"

#include <limits.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"

int bench_exec(const char *root, char **argv, int verb)
{
        char path[PATH_MAX];

        if ((size_t) snprintf(path, sizeof(path), "%s" PROGRAM_BENCH, root ?: "") >= sizeof(path))
                return UASD_EXIT_FAILED;
        for (char **word = argv + verb; *word; word++)
                word[0] = word[1];
        (void) execv(path, argv);
        if (errno == ENOENT) {
                log_error("'bench' is a program of its own, and it is not installed: install the package uasd-bench.");
                return UASD_EXIT_TOOL_MISSING;
        }
        log_error("Cannot run %s: %s", path, strerror(errno));
        return UASD_EXIT_FAILED;
}
