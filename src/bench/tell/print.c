/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/print.h"

#include "bench/tell/grid.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"
#include "common/util.h"
#include "term/fit.h"
#include "term/fold.h"
#include "term/program.h"
#include "term/style.h"
#include "term/table.h"

#define WIDE 118 /* columns of a terminal with room for everything except the mean */
#define WIDE_MEAN 128
#define KEY_WIDTH 8 /* of the lines above the table */
#define BAR_NARROW 8
#define BAR_WIDE 16
#define BAR_BYTES (3 * BAR_WIDE + 1)

#define HARMLESS(s) harmless_sentence(s, (char[4096]){}, 4096)

enum {
        AT_PATTERN,
        AT_DRIVER,
        AT_MEDIAN,
        AT_BAR,
        AT_RANGE,
        AT_SPREAD,
        AT_MEAN,
        AT_P50,
        AT_P95,
        AT_P99,
        AT_NOTES,
        AT_UAS,
        _AT_MAX
};

/* The most important figures stay: the median and the verdict. */
static const struct table_column columns[_AT_MAX] = {
        /* clang-format off */
        [AT_PATTERN] = {"PATTERN", .folds = FIT_NAMES},
        [AT_DRIVER] = {"DRIVER", .folds = FIT_LAST},
        [AT_MEDIAN] = {"MEDIAN", SCOLS_FL_RIGHT, .folds = FIT_LAST},
        [AT_BAR] = {"", .goes = 6},
        [AT_RANGE] = {"RANGE", SCOLS_FL_RIGHT, .goes = 2},
        [AT_SPREAD] = {"SPREAD", SCOLS_FL_RIGHT, .goes = 5},
        [AT_MEAN] = {"MEAN", SCOLS_FL_RIGHT, .goes = 1},
        [AT_P50] = {"P50", SCOLS_FL_RIGHT, .goes = 3},
        [AT_P95] = {"P95", SCOLS_FL_RIGHT, .goes = 4},
        [AT_P99] = {"P99", SCOLS_FL_RIGHT, .goes = 7},
        [AT_NOTES] = {"NOTES", .folds = FIT_BLANKS},
        [AT_UAS] = {"UAS IS", .folds = FIT_LAST},
        /* clang-format on */
};

struct result_printer {
        const struct bench *b;
        struct libscols_table *table;
        struct notes *notes;
        int at[_AT_MAX]; /* column of the table, or -1 */
        unsigned bar;    /* cells of the longest bar */
        bool compares;
        bool markdown; /* not for a terminal: all columns except the bar, and no names from a device or profile */
};

static bool utf8(const struct result_printer *p)
{
        return p->markdown || style_utf8();
}

static bool wide(void)
{
        return style_width() == 0 || style_width() >= WIDE;
}

static void paint(struct result_printer *p, struct libscols_line *line, int column, const char *sgr)
{
        if (p->at[column] >= 0)
                (void) scols_cell_set_color(scols_line_get_cell(line, (size_t) p->at[column]), sgr);
}

/* Eighths of a cell, if the characters exist. */
static void bar_text(double share, unsigned cells, char ret[static BAR_BYTES])
{
        static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
        unsigned parts = (unsigned) (share * cells * 8 + 0.5);
        char *to = ret;

        if (parts == 0 && share > 0)
                parts = 1;
        if (!style_utf8()) {
                for (; parts > 0; parts -= parts < 8 ? parts : 8)
                        *to++ = '#';
                *to = '\0';
                return;
        }
        *to = '\0';
        for (; parts > 0; parts -= parts < 8 ? parts : 8)
                to = stpcpy(to, eighths[parts < 8 ? parts : 8]);
}

static double median_of(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        struct samples s;

        stats_samples(b, pattern, d, m, &s);
        return stats_median(s.values, s.n);
}

/* The longest bar of both drivers, or of all points of a sweep. */
static double longest(const struct result_printer *p, unsigned pattern)
{
        enum stats_measure m = stats_figure(&p->b->patterns[pattern]);
        double most = 0;

        for (unsigned i = 0; i < p->b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                        double x = 0;

                        if (i == pattern || (p->b->axis != BENCH_AXIS_NONE && stats_figure(&p->b->patterns[i]) == m))
                                x = median_of(p->b, i, d, m);
                        most = x > most ? x : most;
                }
        return most;
}

/* "589-605": the unit appears once if both ends have the same. */
static void range_text(const struct result_printer *p, const struct summary *s, enum stats_measure m, char *ret, size_t size)
{
        char low[UNIT_TEXT_MAX], high[UNIT_TEXT_MAX];

        (void) figure_text(s->min, m, utf8(p), low);
        (void) figure_text(s->max, m, utf8(p), high);
        if (streq(low + strcspn(low, " "), high + strcspn(high, " ")))
                low[strcspn(low, " ")] = '\0';
        (void) snprintf(ret, size, "%s-%s", low, high);
}

static void add_row(struct result_printer *p, unsigned pattern, enum driver d, bool first, bool last)
{
        static const struct {
                int column;
                enum stats_measure m;
        } latencies[] = {{AT_MEAN, STATS_MEAN}, {AT_P50, STATS_P50}, {AT_P95, STATS_P95}, {AT_P99, STATS_P99}};
        const struct bench_pattern *what = &p->b->patterns[pattern];
        enum stats_measure m = stats_figure(what);
        char name[4 * sizeof(what->name)], rate[RATE_TEXT_MAX], range[2 * UNIT_TEXT_MAX + 2], spread[16], bar[BAR_BYTES];
        char latency[ELEMENTSOF(latencies)][UNIT_TEXT_MAX], notes[NOTES_TEXT_MAX], said[VERDICT_TEXT_MAX];
        const char *cells[_AT_MAX] = {[AT_DRIVER] = driver_label(d), [AT_MEDIAN] = "-"}, *shown[_AT_MAX], *sgr = NULL;
        double most = longest(p, pattern);
        struct bench_verdict v = {.word = BENCH_SINGLE};
        struct libscols_line *line;
        struct samples s;
        struct summary sum;

        if (p->markdown || !*what->name)
                (void) pattern_text(what, name);
        else
                (void) harmless_sentence(what->name, name, sizeof(name));
        cells[AT_PATTERN] = first ? name : NULL;
        stats_samples(p->b, pattern, d, m, &s);
        stats_summary(&s, &sum);
        if (sum.n > 0) {
                bar_text(most > 0 ? sum.median / most : 0, p->bar, bar);
                range_text(p, &sum, m, range, sizeof(range));
                (void) snprintf(spread, sizeof(spread), "%.*f %%", sum.spread_percent < 9.95 ? 1 : 0, sum.spread_percent);
                cells[AT_MEDIAN] = rate_text(p->b, pattern, d, utf8(p), rate);
                cells[AT_BAR] = bar;
                cells[AT_RANGE] = range;
                cells[AT_SPREAD] = spread;
        }
        for (size_t i = 0; sum.n > 0 && i < ELEMENTSOF(latencies); i++) {
                double ns = median_of(p->b, pattern, d, latencies[i].m);

                cells[latencies[i].column] = ns > 0 ? figure_text(ns, latencies[i].m, utf8(p), latency[i]) : "-";
        }
        cells[AT_NOTES] = notes_of(p->notes, p->b, pattern, d, notes);
        if (last && p->compares) {
                verdict_of_pattern(p->b, pattern, &v);
                cells[AT_UAS] = verdict_short(&v, said);
        }
        for (int i = 0; i < _AT_MAX; i++)
                if (p->at[i] >= 0)
                        shown[p->at[i]] = cells[i];
        line = table_row(p->table, NULL, shown);
        paint(p, line, AT_NOTES, SGR_YELLOW);
        if (v.word == BENCH_FASTER)
                sgr = SGR_GREEN;
        else if (v.word == BENCH_SLOWER || v.word == BENCH_FAILED)
                sgr = SGR_RED;
        if (sgr)
                paint(p, line, AT_UAS, sgr);
}

static bool has_column(const struct result_printer *p, int i)
{
        if (i == AT_UAS)
                return p->compares;
        if (p->markdown)
                return i != AT_BAR;
        if (i == AT_RANGE || i == AT_P50 || i == AT_P95)
                return wide();
        return i != AT_MEAN || style_width() == 0 || style_width() >= WIDE_MEAN;
}

/* The table as an object for either format. chosen: room for _AT_MAX columns. */
static struct libscols_table *make_table(struct result_printer *p, bool legend, struct table_column *chosen)
{
        size_t n = 0;

        p->compares = bench_compares(p->b);
        p->bar = wide() ? BAR_WIDE : BAR_NARROW;
        for (int i = 0; i < _AT_MAX; i++) {
                p->at[i] = has_column(p, i) ? (int) n : -1;
                if (p->at[i] >= 0)
                        chosen[n++] = columns[i];
        }
        p->table = table_new(chosen, n, legend);
        for (unsigned pattern = 0; pattern < p->b->n_patterns; pattern++) {
                enum driver rows[_DRIVER_MAX];
                size_t n_rows = drivers_of(p->b, pattern, rows);

                for (size_t i = 0; i < n_rows; i++)
                        add_row(p, pattern, rows[i], i == 0, i + 1 == n_rows);
        }
        return p->table;
}

struct libscols_table *bench_table_for_markdown(const struct bench *b, struct notes *notes)
{
        struct result_printer p = {.b = b, .notes = notes, .markdown = true};
        struct table_column chosen[_AT_MAX];

        return make_table(&p, true, chosen);
}

static int print_table(struct result_printer *p, FILE *out, bool legend)
{
        struct table_column chosen[_AT_MAX];
        struct libscols_table *t = make_table(p, legend, chosen);

        (void) scols_table_set_stream(t, out);
        return table_print(t, table_fit(t, chosen, scols_table_get_ncols(t)));
}

int bench_print_line(FILE *out, const char *key, bool again, const char *value)
{
        (void) fprintf(out, "%*s%c ", KEY_WIDTH, key, again ? ' ' : ':');
        return fold_print(out, HARMLESS(value), KEY_WIDTH + 2);
}

int bench_print_notes(FILE *out, const struct notes *notes)
{
        int r = 0;

        for (size_t i = 0; i < notes->n && r >= 0; i++) {
                int n = fprintf(out, "%s[%zu] ", i == 0 ? "\n" : "", i + 1) - (i == 0);

                r = fold_print(out, HARMLESS(notes->text[i]), n > 0 ? (unsigned) n : 0);
        }
        return r;
}

/* The finding comes before everything else. */
static int print_finding(const struct bench *b, FILE *out)
{
        char text[2048];
        int r;

        if (!b->finding.found)
                return 0;
        (void) fputs(style_colours() ? SGR_RED : "", out);
        r = fold_print(out, HARMLESS(finding_text(b, text, sizeof(text))), 0);
        (void) fprintf(out, "%s\n", colour_end());
        return r;
}

static int print_verdict(const struct bench *b, FILE *out)
{
        static const char word[] = "Verdict:";
        char text[2048];
        size_t n = strlen(verdict_overall(b, text, sizeof(text)));

        if (n == 0)
                return 0;
        (void) snprintf(text + n, sizeof(text) - n, ".");
        (void) fprintf(out, "\n%s%s%s ", style_colours() ? SGR_BOLD : "", word, colour_end());
        return fold_print(out, text, sizeof(word));
}

int bench_print(const struct bench *b, FILE *out, bool legend)
{
        _cleanup_free_ struct notes *notes = need(calloc(1, sizeof(*notes)));
        struct result_printer p = {.b = b, .notes = notes};
        struct head_line head[HEAD_MAX];
        size_t n;
        int r = print_finding(b, out);

        n = bench_head(b, true, head);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = bench_print_line(out, head[i].key, false, head[i].value);
        (void) fputc('\n', out);
        r = r < 0 ? r : print_table(&p, out, legend);
        r = r < 0 ? r : bench_print_notes(out, notes);
        r = r < 0 ? r : grid_print(b, out, legend);
        r = r < 0 ? r : print_verdict(b, out);
        return r < 0 ? r : ferror(out) ? -EIO : 0;
}
