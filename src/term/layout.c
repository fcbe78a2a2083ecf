/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/layout.h"

#include <assert.h>
#include <sys/param.h>
#include <wchar.h>

#include "common/gettext.h"
#include "common/util.h"
#include "term/terminal.h"

#define MARK_ROOM 3 /* of the mark of style_shorten(), and of the end of line */
#define READABLE 20 /* the minimum width: below it a line has hardly two words */
#define INDENT 6    /* of a text that has no room behind what stands before it */

static unsigned text_width(const char *s, size_t length)
{
        mbstate_t state = {};
        unsigned width = 0;
        wchar_t c;

        for (size_t n; length > 0; s += n, length -= n) {
                if (*s >= ' ' && *s <= '~') {
                        n = 1;
                        width++;
                        continue;
                }
                n = mbrtowc(&c, s, length, &state);
                if (n > length) /* invalid: a cell for each byte */
                        return width + (unsigned) length;
                width += (unsigned) MAX(wcwidth(c), 0);
        }
        return width;
}

unsigned fold_width(const char *s)
{
        return text_width(s, strlen(s));
}

int fold_blanks(const char *s, unsigned width)
{
        unsigned used = fold_width(s);

        return (int) (width - MIN(used, width));
}

/* Length of the next piece of a line: to a blank, or, if dashes may end a piece, to the first dash.
 */
static size_t fold_piece(const char *s, bool dashes)
{
        size_t word = strcspn(s, " "), dash;

        if (!dashes)
                return word;
        dash = strcspn(s, "-") + 1;
        return MIN(dash, word);
}

unsigned fold_longest(const char *s, bool dashes)
{
        unsigned longest = 0;

        for (size_t n; *(s += strspn(s, " ")); s += n) {
                unsigned width;

                n = fold_piece(s, dashes);
                width = text_width(s, n);
                longest = MAX(longest, width);
        }
        return longest;
}

/* All lines but the first begin with `indent` blanks, which do not count. */
static char *fold_at(const char *s, unsigned width, unsigned indent, bool dashes, bool cut)
{
        unsigned used = 0;
        char *ret, *to;

        if (width == 0)
                return need(strdup(s));
        /* Each piece may get a mark and an additional end of line. */
        ret = to = need(malloc(strlen(s) * (MARK_ROOM + 1 + indent) + MARK_ROOM));
        *to = '\0';
        for (size_t n, blanks; blanks = strspn(s, " "), *(s += blanks); s += n) {
                unsigned word;

                n = fold_piece(s, dashes);
                word = text_width(s, n);
                if (to > ret && used + blanks + word > width) {
                        to += sprintf(to, "\n%*s", (int) indent, "");
                        used = 0;
                } else if (to > ret) {
                        /* Two in a row may be part of a name that is copied from the line. */
                        to = (char *) memset(to, ' ', blanks) + blanks;
                        used += (unsigned) blanks;
                }
                memcpy(to, s, n);
                to[n] = '\0';
                if (cut)
                        style_shorten(to, width);
                used += text_width(to, strlen(to));
                to += strlen(to);
        }
        return ret;
}

char *fold(const char *s, unsigned width)
{
        return fold_at(s, width, 0, fold_longest(s, false) > width, true);
}

static char *fold_lines(const char *s, unsigned width, unsigned indent)
{
        unsigned room = READABLE;

        if (width == 0)
                room = 0;
        else if (width > indent + READABLE)
                room = width - indent;
        return fold_at(s, room, indent, false, false);
}

char *fold_indented(const char *s, unsigned indent)
{
        return fold_lines(s, style_width(), indent);
}

void fold_print(FILE *out, const char *s, unsigned indent)
{
        _cleanup_free_ char *lines = NULL;
        unsigned width = style_width();

        if (width > 0 && indent + READABLE > width && indent > INDENT) {
                indent = INDENT;
                (void) fprintf(out, "\n%*s", (int) indent, "");
        }
        lines = fold_indented(s, indent);
        (void) fprintf(out, "%s\n", lines);
}

/* ---- help texts ---- */

#define TWO_COLUMNS 60 /* the least width for both */
#define HELP_COLUMN 31 /* of the second one */

static unsigned help_width(void)
{
        return style_width() ?: 80;
}

void fold_paragraph(const char *s)
{
        _cleanup_free_ char *lines = fold_lines(s, help_width(), 0);

        puts(lines);
}

void fold_row(const char *left, const char *text)
{
        unsigned width = help_width(), at = width < TWO_COLUMNS ? INDENT : HELP_COLUMN,
                 used = fold_width(left) + 2;
        /* Blanks in front of the left text stay as long as it fits. */
        _cleanup_free_ char *first =
                used <= width ? need(strdup(left)) : fold_lines(left, width, INDENT);
        _cleanup_free_ char *second = fold_lines(text, width, at);

        printf("  %s", first);
        if (used >= at) {
                puts("");
                used = 0;
        }
        printf("%*s%s\n", (int) (at - used), "", second);
}

/* ---- tables ---- */

struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend)
{
        struct libscols_table *t = need(scols_new_table());
        unsigned width = style_width();

        (void) scols_table_enable_colors(t, style_colours());
        /* libsmartcols would escape harmless text again. Without UTF-8 that is the smaller problem.
         */
        (void) scols_table_enable_noencoding(t, style_utf8());
        (void) scols_table_enable_ascii(t, !style_utf8());
        (void) scols_table_enable_noheadings(t, !legend);
        /* Behind a pager it cannot see the terminal. */
        (void) scols_table_set_termforce(t, width > 0 ? SCOLS_TERMFORCE_ALWAYS
                                                      : SCOLS_TERMFORCE_NEVER);
        if (width > 0)
                (void) scols_table_set_termwidth(t, width);
        for (size_t i = 0; i < n; i++)
                need(scols_table_new_column(
                        t, columns[i].fixed ? columns[i].name : translated(columns[i].name), 0,
                        columns[i].flags));
        return t;
}

struct libscols_line *table_row(struct libscols_table *t, struct libscols_line *above,
                                const char *const *cells)
{
        struct libscols_line *line = need(scols_table_new_line(t, above));

        for (size_t i = 0; i < scols_table_get_ncols(t); i++)
                if (scols_line_set_data(line, i, cells[i]) < 0)
                        no_memory();
        return line;
}

/* ---- for tables that are wider than the terminal ---- */

#define COLUMNS_MAX 64
#define NARROW 8 /* the width down to which FIT_CUT folds */

struct table_widths {
        const struct table_column *columns;
        size_t n;
        bool shown[COLUMNS_MAX];
        unsigned least[COLUMNS_MAX]; /* the minimum */
        unsigned usual[COLUMNS_MAX]; /* the minimum as long as other columns can be left out */
        unsigned whole[COLUMNS_MAX];
        unsigned width[COLUMNS_MAX];
};

static void width_widen(unsigned *width, unsigned to)
{
        *width = MAX(*width, to);
}

/* The tree to the left of the text in the first column: two cells for each line above. */
static unsigned tree_width(struct libscols_line *line, size_t i)
{
        unsigned width = 0;

        while (i == 0 && (line = scols_line_get_parent(line)))
                width += 2;
        return width;
}

static const char *column_heading(struct libscols_table *t, size_t i)
{
        return scols_cell_get_data(scols_column_get_header(scols_table_get_column(t, i))) ?: "";
}

static void measure_cell(struct table_widths *l, size_t i, const char *text, unsigned left)
{
        unsigned whole = fold_width(text), words = fold_longest(text, false),
                 parts = fold_longest(text, true);
        unsigned cut = MIN(words, NARROW), shortest = MIN(whole, l->columns[i].narrow);
        const unsigned least[] = {[FIT_WHOLE] = whole,
                                  [FIT_BLANKS] = words,
                                  [FIT_CUT] = cut,
                                  [FIT_NAMES] = parts,
                                  [FIT_SHORT] = shortest};
        const unsigned usual[] = {[FIT_WHOLE] = whole,
                                  [FIT_BLANKS] = words,
                                  [FIT_CUT] = cut,
                                  [FIT_NAMES] = words,
                                  [FIT_SHORT] = shortest};

        width_widen(&l->whole[i], left + whole);
        width_widen(&l->usual[i], left + usual[l->columns[i].folds]);
        width_widen(&l->least[i], left + least[l->columns[i].folds]);
}

static void widths_measure(struct libscols_table *t, struct table_widths *l)
{
        for (size_t i = 0; i < l->n; i++) {
                struct libscols_column *c = scols_table_get_column(t, i);

                l->shown[i] = true;
                if (!scols_table_is_noheadings(t))
                        measure_cell(l, i, column_heading(t, i), 0);
                for (size_t row = 0; row < scols_table_get_nlines(t); row++) {
                        struct libscols_line *line = scols_table_get_line(t, row);
                        const char *text = scols_cell_get_data(scols_line_get_column_cell(line, c));

                        measure_cell(l, i, text, tree_width(line, i));
                }
        }
}

/* The sum of all columns, with the blank before each except the first. */
static unsigned widths_sum(const struct table_widths *l, const unsigned widths[static COLUMNS_MAX])
{
        unsigned all = 0, shown = 0;

        for (size_t i = 0; i < l->n; i++) {
                if (!l->shown[i])
                        continue;
                all += widths[i];
                if (shown++ > 0)
                        all++;
        }
        return all;
}

static void widths_leave_out(struct table_widths *l, unsigned room)
{
        for (unsigned turn = 1; turn <= l->n && widths_sum(l, l->usual) > room; turn++)
                for (size_t i = 0; i < l->n; i++)
                        if (l->columns[i].goes == turn)
                                l->shown[i] = false;
}

/* Distributes the remaining room to the columns, from the left. */
static void widths_grow(struct table_widths *l, unsigned room,
                        const unsigned to[static COLUMNS_MAX])
{
        for (size_t i = 0; i < l->n; i++) {
                unsigned used = widths_sum(l, l->width), left = room - MIN(used, room),
                         lacks = to[i] - l->width[i];

                if (l->shown[i])
                        l->width[i] += MIN(lacks, left);
        }
}

static void fold_cells(struct libscols_table *t, struct libscols_column *c, unsigned width)
{
        int r = scols_column_set_flags(c, scols_column_get_flags(c) | SCOLS_FL_WRAP);

        /* Without it, the ends of lines would be escaped if there is no UTF-8. */
        r = r ?: scols_column_set_safechars(c, "\n");
        r = r ?: scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
        for (size_t row = 0; row < scols_table_get_nlines(t) && r == 0; row++) {
                struct libscols_cell *cell =
                        scols_line_get_column_cell(scols_table_get_line(t, row), c);

                r = scols_cell_refer_data(cell, fold(scols_cell_get_data(cell), width));
        }
        if (r < 0)
                no_memory();
}

static void cut_cells(struct libscols_table *t, struct libscols_column *c, unsigned width)
{
        for (size_t row = 0; row < scols_table_get_nlines(t); row++) {
                struct libscols_cell *cell =
                        scols_line_get_column_cell(scols_table_get_line(t, row), c);
                const char *text = scols_cell_get_data(cell);
                char *cut = need(malloc(strlen(text) + MARK_ROOM));

                memcpy(cut, text, strlen(text) + 1);
                style_shorten(cut, width);
                if (scols_cell_refer_data(cell, cut) < 0)
                        no_memory();
        }
}

/* Prints each row as lines "HEADING: text". */
static void table_print_rows(struct libscols_table *t)
{
        FILE *out = scols_table_get_stream(t);
        size_t n = scols_table_get_ncols(t);
        unsigned keys = 0;

        for (size_t i = 0; i < n; i++)
                width_widen(&keys, fold_width(column_heading(t, i)));
        for (size_t k = 0; k < n * scols_table_get_nlines(t); k++) {
                struct libscols_cell *cell =
                        scols_line_get_cell(scols_table_get_line(t, k / n), k % n);
                const char *text = scols_cell_get_data(cell),
                           *sgr = scols_cell_get_color(cell) ?: "";

                if (k > 0 && k % n == 0)
                        (void) fputc('\n', out);
                if (isempty(text))
                        continue;
                (void) fprintf(out, "%*s%s: %s", fold_blanks(column_heading(t, k % n), keys), "",
                               column_heading(t, k % n), colour(sgr));
                fold_print(out, text, keys + 2);
                if (*sgr)
                        (void) fputs(colour_end(), out);
        }
}

/* Returns false if the table is too wide, whatever is left out or folded. */
static bool table_fit(struct libscols_table *t, const struct table_column *columns, size_t n)
{
        struct table_widths l = {.columns = columns, .n = n};
        unsigned room = style_width();

        assert(n <= COLUMNS_MAX);
        if (room == 0)
                return true;
        widths_measure(t, &l);
        widths_leave_out(&l, room);
        if (widths_sum(&l, l.least) > room && !scols_table_is_noheadings(t) &&
            !scols_table_is_tree(t))
                return false;
        memcpy(l.width, l.least, sizeof(l.width));
        widths_grow(&l, room, l.usual);
        widths_grow(&l, room, l.whole);
        for (size_t i = 0; i < n; i++) {
                struct libscols_column *c = scols_table_get_column(t, i);

                if (!l.shown[i])
                        (void) scols_column_set_flags(c,
                                                      scols_column_get_flags(c) | SCOLS_FL_HIDDEN);
                else if (l.width[i] < l.whole[i] && columns[i].folds == FIT_SHORT)
                        cut_cells(t, c, l.width[i]);
                else if (l.width[i] < l.whole[i])
                        fold_cells(t, c, l.width[i]);
        }
        return true;
}

/* For another uasctl, which makes one table from those of several machines. A harmless cell
 * contains no tab. */
static void table_print_cells(struct libscols_table *t, size_t n)
{
        for (size_t row = 0; row < scols_table_get_nlines(t); row++) {
                struct libscols_line *line = scols_table_get_line(t, row);

                for (size_t i = 0; i < n; i++)
                        (void) printf("%s\t",
                                      scols_cell_get_data(scols_line_get_cell(line, i)) ?: "");
                (void) putchar('\n');
        }
}

void table_print(struct libscols_table *t, const struct table_column *columns, size_t n)
{
        if (getenv("UASCTL_CELLS"))
                table_print_cells(t, n);
        else if (!table_fit(t, columns, n))
                table_print_rows(t);
        else if (scols_print_table(t) < 0)
                no_memory();
        scols_unref_table(t);
}
