/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/util.h"
#include "term/style.h"

#define WIPE "\r\033[K"

static bool wanted, shown;

void progress_open(bool quiet)
{
        wanted = !quiet && isatty(STDERR_FILENO) && !style_dumb();
}

void progress_clear(void)
{
        if (shown)
                (void) fputs(WIPE, stderr);
        shown = false;
}

void progress_show(const char *disk, const char *step)
{
        char name[256], harmless[256];

        if (!wanted)
                return;
        progress_clear();
        if (!*step)
                return;
        (void) fprintf(stderr, "%s: %s", make_harmless(disk, name, sizeof(name)), make_harmless(step, harmless, sizeof(harmless)));
        shown = true;
}
