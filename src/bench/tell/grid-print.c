/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/grid.h"

#include "bench/tell/head.h"
#include "common/util.h"
#include "term/fit.h"
#include "term/style.h"
#include "term/table.h"

#define LABELS 2     /* columns before the figures: pattern and driver */
#define CELL_WIDTH 8 /* "99.9 ms" and what is between */
#define DRIVER_WIDTH sizeof("usb-storage")

/* How many columns of figures there is room for beside the patterns' names. */
static size_t columns_beside(const struct bench *b, const struct grid *g)
{
        size_t longest = 0, used, width = style_width();
        char text[GRID_TEXT_MAX];

        for (size_t row = 0; row < g->n_rows; row++) {
                used = strlen(grid_row_text(b, g, row, text));
                longest = used > longest ? used : longest;
        }
        used = longest + DRIVER_WIDTH;
        if (width == 0)
                return g->n_across;
        return width < used + 2 * CELL_WIDTH ? 1 : (width - used) / CELL_WIDTH;
}

static int add_row(struct libscols_table *t, const struct bench *b, const struct grid *g, size_t row, enum driver d, bool first,
                   size_t from, size_t n, enum stats_measure m, bool utf8)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        char text[GRID_TEXT_MAX], figure[UNIT_TEXT_MAX];
        int r;

        if (!line)
                return -ENOMEM;
        r = first ? scols_line_set_data(line, 0, grid_row_text(b, g, row, text)) : 0;
        r = r ?: scols_line_set_data(line, 1, driver_label(d));
        for (size_t i = 0; i < n && r == 0; i++)
                r = scols_line_set_data(line, LABELS + i, grid_cell_text(b, g, row, from + i, d, m, utf8, figure));
        return r;
}

static int add_rows(struct libscols_table *t, const struct bench *b, const struct grid *g, size_t from, size_t n,
                    enum stats_measure m, bool utf8)
{
        int r = 0;

        for (size_t row = 0; row < g->n_rows; row++) {
                enum driver drivers[_DRIVER_MAX];
                size_t n_drivers = grid_drivers(b, g, row, drivers);

                for (size_t i = 0; i < n_drivers && r == 0; i++)
                        r = add_row(t, b, g, row, drivers[i], i == 0, from, n, m, utf8);
        }
        return r;
}

struct libscols_table *grid_table(const struct bench *b, const struct grid *g, size_t from, size_t n, enum stats_measure m,
                                  bool utf8, bool legend)
{
        struct table_column columns[LABELS + GRID_ACROSS_MAX] = {{"PATTERN", 0}, {"DRIVER", 0}};
        char names[GRID_ACROSS_MAX][UNIT_TEXT_MAX];
        struct libscols_table *t;

        for (size_t i = 0; i < n; i++) {
                (void) snprintf(names[i], sizeof(names[i]), "%.0f", g->across[from + i]);
                columns[LABELS + i] = (struct table_column){names[i], SCOLS_FL_RIGHT};
        }
        t = table_new(columns, LABELS + n, legend);
        if (t && add_rows(t, b, g, from, n, m, utf8) != 0) {
                scols_unref_table(t);
                return NULL;
        }
        return t;
}

static int print_columns(const struct bench *b, const struct grid *g, size_t from, size_t n, enum stats_measure m, FILE *out,
                         bool legend)
{
        static const struct fit_column how[LABELS + GRID_ACROSS_MAX] = {{FIT_NAMES, 0}, {FIT_LAST, 0}};
        struct libscols_table *t = grid_table(b, g, from, n, m, style_utf8(), legend);

        if (!t)
                return -ENOMEM;
        (void) scols_table_set_stream(t, out);
        return table_print(t, table_fit(t, how, LABELS + n));
}

int grid_print(const struct bench *b, FILE *out, bool legend)
{
        char title[GRID_TEXT_MAX];
        size_t beside;
        struct grid g;
        int r = grid_make(b, &g);

        if (r < 0)
                return r;
        beside = columns_beside(b, &g);
        for (enum stats_measure m = 0; g.n_rows > 0 && m < GRID_MEASURES && r >= 0; m++) {
                (void) fprintf(out, "\n%s%s%s\n", style_colours() ? SGR_BOLD : "", grid_title(&g, m, title), colour_end());
                for (size_t from = 0; from < g.n_across && r >= 0; from += beside)
                        r = print_columns(b, &g, from, beside < g.n_across - from ? beside : g.n_across - from, m, out, legend);
        }
        grid_done(&g);
        return r;
}
