/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/grid.h"

#include <math.h>

#include "bench/tell/head.h"
#include "common/util.h"
#include "term/program.h"

static double value_of(const struct grid *g, const struct bench_pattern *p)
{
        return g->by_clients ? p->axis : p->numjobs;
}

/* Whether two patterns differ only in the quantity of the columns. In a sweep the jobs share one region; elsewhere the region
 * must be the same. */
static bool alike(const struct bench *b, const struct grid *g, const struct bench_pattern *p, const struct bench_pattern *q)
{
        bool rest = g->by_clients ? p->numjobs == q->numjobs : b->axis == BENCH_AXIS_JOBS || fabs(p->axis - q->axis) < 0.5;

        return rest && (b->axis == BENCH_AXIS_JOBS || p->size == q->size) && p->block_size == q->block_size &&
               p->iodepth == q->iodepth && p->read_percent == q->read_percent && p->random == q->random &&
               p->direct == q->direct && p->sync_engine == q->sync_engine && streq(p->rw, q->rw) && streq(p->engine, q->engine);
}

static void add_column(struct grid *g, double value)
{
        size_t at = g->n_across;

        while (at > 0 && g->across[at - 1] > value)
                at--;
        if ((at > 0 && g->across[at - 1] >= value) || g->n_across == GRID_ACROSS_MAX)
                return;
        memmove(g->across + at + 1, g->across + at, (g->n_across - at) * sizeof(*g->across));
        g->across[at] = value;
        g->n_across++;
}

/* Puts the pattern into the first row that it fits. A pattern that repeats a question begins another row. */
static void add_cell(const struct bench *b, struct grid *g, unsigned pattern, unsigned *first)
{
        const struct bench_pattern *p = &b->patterns[pattern];
        size_t column = 0, row = 0;

        while (column < g->n_across && g->across[column] < value_of(g, p))
                column++;
        if (column == g->n_across || g->across[column] > value_of(g, p))
                return;
        while (row < g->n_rows && (g->rows[row].cells[column] || !alike(b, g, &b->patterns[first[row]], p)))
                row++;
        if (row == g->n_rows)
                first[g->n_rows++] = pattern;
        g->rows[row].cells[column] = pattern + 1;
}

static size_t cells_of(const struct grid *g, size_t row)
{
        size_t n = 0;

        for (size_t i = 0; i < g->n_across; i++)
                n += g->rows[row].cells[i] > 0;
        return n;
}

static bool column_is_used(const struct grid *g, size_t column)
{
        for (size_t row = 0; row < g->n_rows; row++)
                if (g->rows[row].cells[column])
                        return true;
        return false;
}

/* Drops rows with only one cell, and columns without a cell. */
static void drop_single(struct grid *g)
{
        size_t rows = 0, columns = 0;

        for (size_t row = 0; row < g->n_rows; row++)
                if (cells_of(g, row) > 1)
                        g->rows[rows++] = g->rows[row];
        g->n_rows = rows;
        for (size_t i = 0; i < g->n_across; i++) {
                if (!column_is_used(g, i))
                        continue;
                for (size_t row = 0; row < g->n_rows; row++)
                        g->rows[row].cells[columns] = g->rows[row].cells[i];
                g->across[columns++] = g->across[i];
        }
        g->n_across = columns;
}

static void make(const struct bench *b, bool by_clients, struct grid *ret)
{
        _cleanup_free_ unsigned *first = need(calloc(b->n_patterns + 1, sizeof(*first)));
        struct grid g = {.by_clients = by_clients, .rows = need(calloc(b->n_patterns + 1, sizeof(*g.rows)))};

        for (size_t i = 0; i < b->n_patterns; i++)
                add_column(&g, value_of(&g, &b->patterns[i]));
        for (unsigned i = 0; i < b->n_patterns; i++)
                add_cell(b, &g, i, first);
        drop_single(&g);
        *ret = g;
}

void grid_make(const struct bench *b, struct grid *ret)
{
        make(b, false, ret);
        if (ret->n_rows > 0 || b->axis != BENCH_AXIS_CLIENTS)
                return;
        grid_done(ret);
        make(b, true, ret);
}

void grid_done(struct grid *g)
{
        free(g->rows);
        *g = (struct grid){};
}

static const struct bench_pattern *pattern_of(const struct bench *b, const struct grid *g, size_t row)
{
        size_t i = 0;

        while (!g->rows[row].cells[i])
                i++;
        return &b->patterns[g->rows[row].cells[i] - 1];
}

static char *plain_text(const struct bench *b, const struct grid *g, size_t row, char ret[static GRID_TEXT_MAX])
{
        const struct bench_pattern *p = pattern_of(b, g, row);
        char size[UNIT_TEXT_MAX];
        size_t used;

        (void) pattern_text_any_jobs(p, ret);
        used = strlen(ret);
        if (g->by_clients && p->numjobs > 1)
                (void) snprintf(ret + used, GRID_TEXT_MAX - used, " with %u jobs", p->numjobs);
        else if (!g->by_clients && b->axis == BENCH_AXIS_CLIENTS)
                (void) snprintf(ret + used, GRID_TEXT_MAX - used, ", %.0f client%s", p->axis, p->axis > 1 ? "s" : "");
        else if (b->axis == BENCH_AXIS_REGION)
                (void) snprintf(ret + used, GRID_TEXT_MAX - used, ", %s", bytes_text((uint64_t) p->axis, size));
        return ret;
}

/* The engine appears only if nothing else distinguishes two rows. Its name may come from any file. */
char *grid_row_text(const struct bench *b, const struct grid *g, size_t row, char ret[static GRID_TEXT_MAX])
{
        const char *engine = pattern_of(b, g, row)->engine, *plain = "abcdefghijklmnopqrstuvwxyz0123456789_-";
        char other[GRID_TEXT_MAX];

        (void) plain_text(b, g, row, ret);
        for (size_t i = 0; i < g->n_rows; i++) {
                size_t used = strlen(ret);

                if (i == row || !streq(plain_text(b, g, i, other), ret) || engine[strspn(engine, plain)])
                        continue;
                (void) snprintf(ret + used, GRID_TEXT_MAX - used, ", %.32s", engine);
                break;
        }
        return ret;
}

size_t grid_drivers(const struct bench *b, const struct grid *g, size_t row, enum driver ret[static _DRIVER_MAX])
{
        bool run[_DRIVER_MAX] = {false};
        size_t n = 0;

        for (size_t i = 0; i < g->n_across; i++) {
                unsigned cell = g->rows[row].cells[i];
                enum driver drivers[_DRIVER_MAX];
                size_t of_cell = cell ? drivers_of(b, cell - 1, drivers) : 0;

                for (size_t k = 0; k < of_cell; k++)
                        run[drivers[k]] = true;
        }
        for (enum driver d = 0; d < _DRIVER_MAX; d++)
                if (run[d])
                        ret[n++] = d;
        return n;
}

char *grid_title(const struct grid *g, enum stats_measure m, char ret[static GRID_TEXT_MAX])
{
        static const char *const titles[GRID_MEASURES] = {
                [STATS_BYTES] = "Bandwidth (MB/s)", [STATS_IOPS] = "IOPS", [STATS_MEAN] = "Mean latency"};

        (void) snprintf(ret, GRID_TEXT_MAX, "%s by number of %s", titles[m], g->by_clients ? "clients" : "jobs");
        return ret;
}

char *grid_cell_text(const struct bench *b, const struct grid *g, size_t row, size_t column, enum driver d, enum stats_measure m,
                     bool utf8, char ret[static UNIT_TEXT_MAX])
{
        unsigned cell = g->rows[row].cells[column];
        struct samples s = {};
        double median;

        if (cell)
                stats_samples(b, cell - 1, d, m, &s);
        median = stats_median(s.values, s.n);
        if (!(median > 0)) {
                (void) copy_string(ret, UNIT_TEXT_MAX, "-");
                return ret;
        }
        (void) figure_text(median, m, utf8, ret);
        if (m != STATS_MEAN) /* the unit of a mean varies */
                ret[strcspn(ret, " ")] = '\0';
        return ret;
}
