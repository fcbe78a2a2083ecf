/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/program.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "term/terminal.h"

int program_run(program_fn run, int argc, char **argv, const char *root)
{
        int r;

        /* Not LC_ALL: each category is a file to read, and sentences and CSV need the number format of C. */
        (void) setlocale(LC_CTYPE, "");
        (void) setlocale(LC_MESSAGES, "");
        log_open("uasctl", LOG_INFO);
        r = run(argc, argv, root);
        progress_clear();
        /* If the disk behind stdout is full, the exit status must show it. It is no error if the user leaves the pager early. */
        if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_close()) {
                log_error("Cannot write to the standard output: %s", strerror(errno));
                return r == UASD_EXIT_OK ? UASD_EXIT_FAILED : r;
        }
        (void) pager_close();
        return r;
}

void no_memory(void)
{
        log_error("There is not enough memory.");
        exit(UASD_EXIT_FAILED);
}

void *need(void *p)
{
        if (!p)
                no_memory();
        return p;
}
