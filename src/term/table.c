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
                need(scols_table_new_column(t, columns[i].name, 0, columns[i].flags));
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

int table_print(struct libscols_table *t, int r)
{
        if (r == 0)
                r = scols_print_table(t);
        scols_unref_table(t);
        return r < 0 ? r : 0;
}
