/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/table.h"

#include <errno.h>

#include "ctl/style.h"

struct libscols_table *table_new(const struct table_column *columns, size_t n, bool legend)
{
        struct libscols_table *t = scols_new_table();
        unsigned width = style_width();

        if (!t)
                return NULL;
        (void) scols_table_enable_colors(t, style_colours());
        /* What is harmless already it would escape again; without UTF-8 that is the lesser evil. */
        (void) scols_table_enable_noencoding(t, style_utf8());
        (void) scols_table_enable_ascii(t, !style_utf8());
        (void) scols_table_enable_noheadings(t, !legend);
        /* Behind a pager it could not find out itself. */
        (void) scols_table_set_termforce(t, width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
        if (width > 0)
                (void) scols_table_set_termwidth(t, width);
        for (size_t i = 0; i < n; i++)
                if (!scols_table_new_column(t, columns[i].name, 0, columns[i].flags)) {
                        scols_unref_table(t);
                        return NULL;
                }
        return t;
}

int table_print(struct libscols_table *t, int r)
{
        if (!t)
                return -ENOMEM;
        if (r == 0)
                r = scols_print_table(t);
        scols_unref_table(t);
        return r < 0 ? r : 0;
}
