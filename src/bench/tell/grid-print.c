/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/grid.h"

#include "bench/tell/head.h"
#include "term/fit.h"
#include "term/style.h"
#include "term/table.h"

#define LABELS 2     /* columns before the figures: pattern and driver */
#define CELL_WIDTH 8 /* "99.9 ms" and the gap */
#define DRIVER_WIDTH sizeof("usb-storage")

/* Number of columns of figures that fit beside the patterns' names. */
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

struct libscols_table *grid_table(const struct bench *b, const struct grid *g, size_t from, size_t n, enum stats_measure m,
                                  bool utf8, bool legend)
{
        struct table_column columns[LABELS + GRID_ACROSS_MAX] = {{"PATTERN"}, {"DRIVER"}};
        char texts[GRID_ACROSS_MAX][UNIT_TEXT_MAX], name[GRID_TEXT_MAX];
        struct libscols_table *t;

        for (size_t i = 0; i < n; i++) {
                (void) snprintf(texts[i], sizeof(texts[i]), "%.0f", g->across[from + i]);
                columns[LABELS + i] = (struct table_column){texts[i], SCOLS_FL_RIGHT};
        }
        t = table_new(columns, LABELS + n, legend);
        for (size_t row = 0; row < g->n_rows; row++) {
                enum driver drivers[_DRIVER_MAX];
                size_t n_drivers = grid_drivers(b, g, row, drivers);

                for (size_t k = 0; k < n_drivers; k++) {
                        const char *cells[LABELS + GRID_ACROSS_MAX] = {k == 0 ? grid_row_text(b, g, row, name) : NULL,
                                                                       driver_label(drivers[k])};

                        for (size_t i = 0; i < n; i++)
                                cells[LABELS + i] = grid_cell_text(b, g, row, from + i, drivers[k], m, utf8, texts[i]);
                        (void) table_row(t, NULL, cells);
                }
        }
        return t;
}

int grid_print(const struct bench *b, FILE *out, bool legend)
{
        static const struct table_column how[LABELS + GRID_ACROSS_MAX] = {{.folds = FIT_NAMES}, {.folds = FIT_LAST}};
        char title[GRID_TEXT_MAX];
        size_t beside, n;
        struct grid g;
        int r = 0;

        grid_make(b, &g);
        beside = columns_beside(b, &g);
        for (enum stats_measure m = 0; g.n_rows > 0 && m < GRID_MEASURES; m++) {
                (void) fprintf(out, "\n%s%s%s\n", style_colours() ? SGR_BOLD : "", grid_title(&g, m, title), colour_end());
                for (size_t from = 0; from < g.n_across && r >= 0; from += n) {
                        struct libscols_table *t;

                        n = beside < g.n_across - from ? beside : g.n_across - from;
                        t = grid_table(b, &g, from, n, m, style_utf8(), legend);
                        (void) scols_table_set_stream(t, out);
                        r = table_print(t, table_fit(t, how, LABELS + n));
                }
        }
        grid_done(&g);
        return r;
}
