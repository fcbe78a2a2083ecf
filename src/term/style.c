/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/style.h"

#include <langinfo.h>
#include <limits.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "common/util.h"

#define SGR_END "\033[0m"

#define WIDTH_DEFAULT 80

bool style_utf8(void)
{
        return streq(nl_langinfo(CODESET), "UTF-8");
}

bool style_dumb(void)
{
        const char *term = getenv("TERM");

        return term && streq(term, "dumb");
}

static bool find_colours(void)
{
        const char *asked = getenv("SYSTEMD_COLORS"), *no_color = getenv("NO_COLOR");
        static const char *const no[] = {"0", "n", "no", "f", "false", "off"};

        if (isempty(asked))
                return isatty(STDOUT_FILENO) && isempty(no_color) && !style_dumb();
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (strcasecmp(asked, no[i]) == 0)
                        return false;
        return true;
}

bool style_colours(void)
{
        static int found = -1;

        if (found < 0)
                found = find_colours();
        return found;
}

static unsigned find_width(void)
{
        const char *asked = getenv("COLUMNS");
        unsigned long long columns;
        struct winsize w;

        if (!isatty(STDOUT_FILENO))
                return 0;
        if (asked && parse_uint(asked, 10, USHRT_MAX, &columns) >= 0 && columns > 0)
                return (unsigned) columns;
        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) >= 0 && w.ws_col > 0 ? w.ws_col : WIDTH_DEFAULT;
}

unsigned style_width(void)
{
        static unsigned found = UINT_MAX;

        if (found == UINT_MAX)
                found = find_width();
        return found;
}

void style_shorten(char *s, unsigned width)
{
        char *cut = s; /* the mark still fits after this position */
        mbstate_t state = {};
        unsigned used = 0;
        size_t left = strlen(s), n;
        wchar_t c;

        for (char *at = s; left > 0; at += n, left -= n) {
                n = mbrtowc(&c, at, left, &state);
                if (n == 0 || n > left) /* invalid, and shown as it is */
                        return;
                used += wcwidth(c) > 0 ? (unsigned) wcwidth(c) : 0;
                if (used < width)
                        cut = at + n;
                else if (used > width) {
                        const char *mark = style_utf8() ? "…" : "~";

                        memcpy(cut, mark, strlen(mark) + 1);
                        return;
                }
        }
}

const char *colour(const char *sgr)
{
        return style_colours() ? sgr : "";
}

const char *colour_end(void)
{
        return style_colours() ? SGR_END : "";
}
