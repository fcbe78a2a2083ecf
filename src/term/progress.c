/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/util.h"
#include "term/style.h"

#define WIPE "\r\033[K"
#define LINE_WIDTH_MAX 256
#define WIDTH_DEFAULT 80

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

/* The width of the terminal behind stderr, because stdout may go elsewhere. */
static unsigned width(void)
{
        struct winsize w;

        return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) >= 0 && w.ws_col > 0 ? w.ws_col : WIDTH_DEFAULT;
}

void progress_line(const char *text)
{
        char line[LINE_WIDTH_MAX + 3];

        if (!wanted)
                return;
        (void) make_harmless(text, line, LINE_WIDTH_MAX);
        style_shorten(line, width() - 1);
        (void) fprintf(stderr, "\r%s\033[K", line); /* erases the rest of a longer line last, to avoid flicker */
        (void) fflush(stderr);
        shown = true;
}

void progress_show(const char *disk, const char *step)
{
        char line[LINE_WIDTH_MAX];

        (void) snprintf(line, sizeof(line), "%s: %s", disk, step);
        if (*step)
                progress_line(line);
        else
                progress_clear();
}
