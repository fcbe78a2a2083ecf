/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "term/table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "term/program.h"
#include "term/style.h"

struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend)
{
        struct libscols_table *t = need(scols_new_table());
        unsigned width = style_width();

        (void) scols_table_enable_colors(t, style_colours());
        /* libsmartcols would escape harmless text again. Without UTF-8 that is the smaller problem. */
        (void) scols_table_enable_noencoding(t, style_utf8());
        (void) scols_table_enable_ascii(t, !style_utf8());
        (void) scols_table_enable_noheadings(t, !legend);
        /* Behind a pager it cannot see the terminal. */
        (void) scols_table_set_termforce(t, width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
        if (width > 0)
                (void) scols_table_set_termwidth(t, width);
        for (size_t i = 0; i < n; i++)
                need(scols_table_new_column(t, columns[i].name, columns[i].hint, columns[i].flags));
        return t;
}

struct libscols_line *table_row(struct libscols_table *t, struct libscols_line *above, const char *const *cells)
{
        struct libscols_line *line = need(scols_table_new_line(t, above));

        for (size_t i = 0; i < scols_table_get_ncols(t); i++)
                if (scols_line_set_data(line, i, cells[i]) < 0)
                        no_memory();
        return line;
}

static void mark_cut_cell(struct libscols_cell *cell, unsigned width)
{
        const char *data = scols_cell_get_data(cell);
        size_t n = data ? strlen(data) + 1 : 0;
        /* The mark may take two bytes more than the text in its place. */
        char *s;

        if (!data)
                return;
        s = need(malloc(n + 2));
        memcpy(s, data, n);
        style_shorten(s, width);
        (void) scols_cell_set_data(cell, s);
        free(s);
}

static void mark_cut_column(struct libscols_table *t, struct libscols_column *c)
{
        for (size_t i = 0; scols_column_is_trunc(c) && i < scols_table_get_nlines(t); i++)
                mark_cut_cell(scols_line_get_column_cell(scols_table_get_line(t, i), c), (unsigned) scols_column_get_width(c));
}

/* libsmartcols gives the last column the remaining width. Hides the column if it must not be cut, or if the width is less than
 * its name. */
static bool hide_rest(struct libscols_column *c, bool cuttable)
{
        const char *name = scols_cell_get_data(scols_column_get_header(c));
        bool cut = scols_column_is_trunc(c) && !scols_column_is_hidden(c);
        bool rest = cut && (!cuttable || (name && scols_column_get_width(c) < strlen(name)));

        if (rest)
                (void) scols_column_set_flags(c, scols_column_get_flags(c) | SCOLS_FL_HIDDEN);
        return rest;
}

/* libsmartcols knows the width of a column only after printing. */
static int measure(struct libscols_table *t)
{
        char *seen;
        int r = scols_print_table_to_string(t, &seen);

        if (r == 0)
                free(seen);
        return r;
}

static uint64_t cuttable_columns(struct libscols_table *t)
{
        uint64_t mask = 0;

        for (size_t i = 0; i < scols_table_get_ncols(t) && i < 64; i++)
                if (scols_column_is_trunc(scols_table_get_column(t, i)))
                        mask |= UINT64_C(1) << i;
        return mask;
}

/* libsmartcols cuts without a mark. */
static int mark_cuts(struct libscols_table *t)
{
        uint64_t cuttable = cuttable_columns(t);
        bool hidden = false;
        int r = measure(t);

        for (size_t i = 0; r == 0 && i < scols_table_get_ncols(t) && i < 64; i++)
                hidden = hide_rest(scols_table_get_column(t, i), cuttable & (UINT64_C(1) << i)) || hidden;
        if (r == 0 && hidden)
                r = measure(t);
        for (size_t i = 0; r == 0 && i < scols_table_get_ncols(t); i++)
                mark_cut_column(t, scols_table_get_column(t, i));
        return r;
}

int table_print(struct libscols_table *t, int r)
{
        if (r == 0 && style_width() > 0)
                r = mark_cuts(t);
        if (r == 0)
                r = scols_print_table(t);
        scols_unref_table(t);
        return r < 0 ? r : 0;
}
