/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/fold.h"

#include <wchar.h>

#include "common/util.h"
#include "term/program.h"
#include "term/terminal.h"

#define MARK_ROOM 3 /* of the mark of style_shorten(), and of the end of line */
#define READABLE 20 /* the minimum width: below it a line has hardly two words */
#define INDENT 6    /* of a text that has no room behind what stands before it */

static unsigned width_of(const char *s, size_t length)
{
        mbstate_t state = {};
        unsigned width = 0;
        wchar_t c;

        for (size_t n; length > 0; s += n, length -= n) {
                n = mbrtowc(&c, s, length, &state);
                if (n == 0 || n > length) /* invalid: a cell for each byte */
                        return width + (unsigned) length;
                width += wcwidth(c) > 0 ? (unsigned) wcwidth(c) : 0;
        }
        return width;
}

unsigned fold_width(const char *s)
{
        return width_of(s, strlen(s));
}

int fold_blanks(const char *s, unsigned width)
{
        unsigned used = fold_width(s);

        return used < width ? (int) (width - used) : 0;
}

/* Length of the next piece of a line: to a blank, or, if dashes may end a piece, to the first dash. */
static size_t piece(const char *s, bool dashes)
{
        size_t word = strcspn(s, " "), dash = dashes ? strcspn(s, "-") + 1 : word;

        return dash < word ? dash : word;
}

unsigned fold_longest(const char *s, bool dashes)
{
        unsigned longest = 0;

        for (size_t n; *(s += strspn(s, " ")); s += n) {
                unsigned width;

                n = piece(s, dashes);
                width = width_of(s, n);
                longest = width > longest ? width : longest;
        }
        return longest;
}

static char *fold_at(const char *s, unsigned width, bool dashes, bool cut)
{
        /* Each piece may get a mark and an additional end of line. */
        char *ret = width > 0 ? malloc(strlen(s) * (MARK_ROOM + 1) + MARK_ROOM) : strdup(s), *to = ret;
        unsigned used = 0;

        if (!ret || width == 0)
                return ret;
        *to = '\0';
        for (size_t n, blanks; blanks = strspn(s, " "), *(s += blanks); s += n) {
                unsigned word;

                n = piece(s, dashes);
                word = width_of(s, n);
                if (to > ret && used + (blanks > 0) + word > width) {
                        *to++ = '\n';
                        used = 0;
                } else if (to > ret && blanks > 0) {
                        *to++ = ' ';
                        used++;
                }
                memcpy(to, s, n);
                to[n] = '\0';
                if (word > width && cut)
                        style_shorten(to, width);
                used += width_of(to, strlen(to));
                to += strlen(to);
        }
        return ret;
}

char *fold(const char *s, unsigned width)
{
        return fold_at(s, width, fold_longest(s, false) > width, true);
}

static char *indented(const char *s, unsigned width, unsigned indent)
{
        unsigned room = width == 0 ? 0 : width > indent + READABLE ? width - indent : READABLE;
        _cleanup_free_ char *lines = fold_at(s, room, false, false);
        size_t n = 1;
        char *ret, *to;

        if (!lines || room == 0)
                return TAKE_PTR(lines);
        for (const char *end = lines; (end = strchr(end, '\n')); end++)
                n++;
        ret = to = calloc(1, strlen(lines) + n * indent + 1);
        for (const char *from = lines; ret && (*to++ = *from); from++)
                if (*from == '\n')
                        to += sprintf(to, "%*s", (int) indent, "");
        return ret;
}

char *fold_indented(const char *s, unsigned indent)
{
        return indented(s, style_width(), indent);
}

int fold_print(FILE *out, const char *s, unsigned indent)
{
        _cleanup_free_ char *lines = NULL;
        unsigned width = style_width();

        if (width > 0 && indent + READABLE > width && indent > INDENT) {
                indent = INDENT;
                (void) fprintf(out, "\n%*s", (int) indent, "");
        }
        lines = fold_indented(s, indent);
        if (!lines)
                return -ENOMEM;
        (void) fprintf(out, "%s\n", lines);
        return 0;
}

/* ---- help texts ---- */

#define NARROW 60 /* no room for two columns */

static unsigned help_width(void)
{
        return style_width() ?: 80;
}

void fold_paragraph(const char *s)
{
        _cleanup_free_ char *lines = need(indented(s, help_width(), 0));

        puts(lines);
}

void fold_row(const char *left, const char *text, unsigned column)
{
        unsigned width = help_width(), at = width < NARROW ? INDENT : column, used = fold_width(left) + 2;
        /* Blanks in front of the left text stay as long as it fits. */
        _cleanup_free_ char *first = used <= width ? need(strdup(left)) : need(indented(left, width, INDENT));
        _cleanup_free_ char *second = need(indented(text, width, at));

        printf("  %s%s%*s%s\n", first, used < at ? "" : "\n", (int) (used < at ? at - used : at), "", second);
}
