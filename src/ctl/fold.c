/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/fold.h"

#include <wchar.h>

#include "common/util.h"
#include "ctl/style.h"

#define MARK_ROOM 3 /* what style_shorten() may add, and the end */

static unsigned width_of(const char *s, size_t length)
{
        mbstate_t state = {};
        unsigned width = 0;
        wchar_t c;

        for (size_t n; length > 0; s += n, length -= n) {
                n = mbrtowc(&c, s, length, &state);
                if (n == 0 || n > length) /* broken: a byte a cell */
                        return width + (unsigned) length;
                width += wcwidth(c) > 0 ? (unsigned) wcwidth(c) : 0;
        }
        return width;
}

unsigned fold_width(const char *s)
{
        return width_of(s, strlen(s));
}

unsigned fold_longest_word(const char *s)
{
        unsigned longest = 0;

        for (size_t n; *s; s += n) {
                unsigned width;

                s += strspn(s, " ");
                n = strcspn(s, " ");
                width = width_of(s, n);
                longest = width > longest ? width : longest;
        }
        return longest;
}

char *fold(const char *s, unsigned width)
{
        /* Each word may be marked, and none is without a blank or an end. */
        char *ret = width > 0 ? malloc(strlen(s) * MARK_ROOM + MARK_ROOM) : strdup(s), *to = ret;
        unsigned used = 0;

        if (!ret || width == 0)
                return ret;
        *to = '\0';
        for (size_t n; *(s += strspn(s, " ")); s += n) {
                unsigned word;

                n = strcspn(s, " ");
                word = width_of(s, n);
                if (to > ret)
                        *to++ = used + 1 + word <= width ? ' ' : '\n';
                used = to > ret && to[-1] == ' ' ? used + 1 : 0;
                memcpy(to, s, n);
                to[n] = '\0';
                if (word > width)
                        style_shorten(to, width);
                used += width_of(to, strlen(to));
                to += strlen(to);
        }
        return ret;
}

int fold_column(struct libscols_column *c)
{
        int r = scols_column_set_flags(c, scols_column_get_flags(c) | SCOLS_FL_WRAP);

        /* Else the ends of lines would be made visible where there is no UTF-8. */
        r = r ?: scols_column_set_safechars(c, "\n");
        return r ?: scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
}
