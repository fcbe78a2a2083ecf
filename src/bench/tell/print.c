/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <math.h>

#include "common/util.h"
#include "term/layout.h"
#include "term/terminal.h"

#define KEY_WIDTH 8 /* of the lines above the table */
#define PLACES 16   /* of the column ROUNDS */

#define HARMLESS(s) harmless_sentence(s, (char[4096]){}, 4096)

/* clang-format off */
enum {
        AT_PATTERN, AT_DRIVER, AT_MEDIAN, AT_ROUNDS, AT_RANGE, AT_SPREAD, AT_AVERAGE, AT_ALSO, AT_LATENCY, AT_CLAT, AT_P50, AT_P95,
        AT_P99, AT_NOTES, AT_UAS, _AT_MAX
};

/* The most important figures stay: the median and the verdict. */
static const struct table_column columns[_AT_MAX] = {
        [AT_PATTERN] = {"PATTERN", .folds = FIT_LAST},
        [AT_DRIVER] = {"DRIVER", .folds = FIT_LAST},
        [AT_MEDIAN] = {"MEDIAN", SCOLS_FL_RIGHT, .folds = FIT_LAST},
        [AT_ROUNDS] = {"ROUNDS", .goes = 9},
        [AT_RANGE] = {"RANGE", SCOLS_FL_RIGHT, .goes = 5},
        [AT_SPREAD] = {"SPREAD", SCOLS_FL_RIGHT, .goes = 8},
        [AT_AVERAGE] = {"AVERAGE", SCOLS_FL_RIGHT, .goes = 2},
        [AT_ALSO] = {"ALSO", SCOLS_FL_RIGHT, .goes = 3},
        [AT_LATENCY] = {"LATENCY", SCOLS_FL_RIGHT, .goes = 4},
        [AT_CLAT] = {"CLAT", SCOLS_FL_RIGHT, .goes = 1},
        [AT_P50] = {"P50", SCOLS_FL_RIGHT, .goes = 6},
        [AT_P95] = {"P95", SCOLS_FL_RIGHT, .goes = 7},
        [AT_P99] = {"P99", SCOLS_FL_RIGHT, .goes = 10},
        [AT_NOTES] = {"SEE", .folds = FIT_BLANKS},
        [AT_UAS] = {"UAS IS", .folds = FIT_LAST},
};
/* clang-format on */

static const char *const verdict_colours[_BENCH_WORD_MAX] = {
        [BENCH_FASTER] = SGR_GREEN, [BENCH_SLOWER] = SGR_RED, [BENCH_FAILED] = SGR_RED};

struct result_printer {
        const struct bench *b;
        struct libscols_table *table;
        struct notes notes;
        size_t n_columns; /* without the last one if nothing is compared */
        bool markdown;    /* not for a terminal */
        bool brief;       /* for a forum: the marks of the doubts are behind the median */
        bool utf8;
};

/* The number of rounds at each place between 0 and the best one: "......14......". */
static void places_text(const struct samples *s, double best, char ret[static PLACES + 1])
{
        memset(ret, '.', PLACES);
        ret[PLACES] = '\0';
        for (size_t i = 0; i < s->n; i++) {
                char *at = ret + (size_t) (s->values[i] / best * (PLACES - 1) + 0.5);

                if (*at == '.')
                        *at = '1';
                else if (*at >= '1' && *at < '9')
                        ++*at;
                else
                        *at = '+';
        }
}

/* The best round of both drivers, or of all points of a sweep. */
static double best_round(const struct bench *b, unsigned pattern)
{
        enum stats_measure m = stats_figure(&b->patterns[pattern]);
        double best = 0;

        for (unsigned i = 0; i < b->n_patterns; i++)
                for (enum driver d = 0; d < _DRIVER_MAX; d++)
                        if (i == pattern || (b->axis != BENCH_AXIS_NONE && stats_figure(&b->patterns[i]) == m))
                                best = fmax(best, stats_of(b, i, d, m).max);
        return best;
}

/* "589-605": the unit appears once if both ends have the same. */
static void range_text(const struct result_printer *p, const struct summary *s, enum stats_measure m, char *ret, size_t size)
{
        char *low = FIGURE_TEXT(s->min, m, p->utf8), *high = FIGURE_TEXT(s->max, m, p->utf8);

        if (streq(low + strcspn(low, " "), high + strcspn(high, " ")))
                low[strcspn(low, " ")] = '\0';
        (void) snprintf(ret, size, "%s-%s", low, high);
}

/* The pattern in words. If it has several lines, the second one shows what does not fit into the first one. */
static const char *name_text(const struct result_printer *p, unsigned pattern, bool first, bool last,
                             char ret[static PATTERN_TEXT_MAX])
{
        char *comma;

        (void) pattern_text(p->b, pattern, ret);
        comma = strstr(ret, ", ");
        comma = comma ? strstr(comma + 2, ", ") : NULL;
        if ((first && last) || p->markdown || !comma)
                return first ? ret : NULL;
        comma[1] = '\0';
        return first ? ret : comma + 2;
}

static void add_row(struct result_printer *p, unsigned pattern, enum driver d, bool first, bool last)
{
        static const struct {
                int column;
                enum stats_measure m;
        } latencies[] = {
                {AT_LATENCY, STATS_MEAN}, {AT_CLAT, STATS_CLAT}, {AT_P50, STATS_P50}, {AT_P95, STATS_P95}, {AT_P99, STATS_P99}};
        enum stats_measure m = stats_figure(&p->b->patterns[pattern]), also = m == STATS_IOPS ? STATS_BYTES : STATS_IOPS;
        char name[PATTERN_TEXT_MAX], rate[RATE_TEXT_MAX], other[RATE_TEXT_MAX], average[UNIT_TEXT_MAX];
        char range[2 * UNIT_TEXT_MAX + 2], spread[16], places[PLACES + 1];
        char latency[ELEMENTSOF(latencies)][UNIT_TEXT_MAX], notes[NOTES_TEXT_MAX] = "", marked[RATE_TEXT_MAX + NOTES_TEXT_MAX];
        const char *cells[_AT_MAX] = {[AT_DRIVER] = driver_label(d), [AT_MEDIAN] = "-"};
        struct bench_verdict v = {.word = BENCH_SINGLE};
        struct libscols_line *line;
        const struct samples s = stats_samples(p->b, pattern, d, m);
        const struct summary sum = stats_summary(&s);

        cells[AT_PATTERN] = name_text(p, pattern, first, last, name);
        if (sum.n > 0) {
                places_text(&s, best_round(p->b, pattern), places);
                range_text(p, &sum, m, range, sizeof(range));
                (void) snprintf(spread, sizeof(spread), "%.*f %%", sum.spread_percent < 9.95 ? 1 : 0, sum.spread_percent);
                cells[AT_MEDIAN] = rate_text(p->b, pattern, d, m, p->utf8, rate);
                cells[AT_ROUNDS] = places;
                cells[AT_RANGE] = range;
                cells[AT_SPREAD] = spread;
                cells[AT_AVERAGE] = figure_text(sum.average, m, p->utf8, average);
                cells[AT_ALSO] = rate_text(p->b, pattern, d, also, p->utf8, other);
        }
        for (size_t i = 0; sum.n > 0 && i < ELEMENTSOF(latencies); i++) {
                double ns = stats_of(p->b, pattern, d, latencies[i].m).median;

                cells[latencies[i].column] = ns > 0 ? figure_text(ns, latencies[i].m, p->utf8, latency[i]) : "-";
        }
        notes_of(&p->notes, p->b, pattern, d, "", notes);
        cells[AT_NOTES] = notes;
        if (p->brief && *notes) {
                (void) snprintf(marked, sizeof(marked), "%s %s", cells[AT_MEDIAN], notes);
                cells[AT_MEDIAN] = marked;
        }
        if (last)
                v = verdict_of_pattern(p->b, pattern);
        cells[AT_UAS] = VERDICT_TEXT(&v, NULL);
        line = table_row(p->table, NULL, cells);
        (void) scols_cell_set_color(scols_line_get_cell(line, AT_NOTES), SGR_YELLOW);
        if (verdict_colours[v.word] && p->n_columns == _AT_MAX)
                (void) scols_cell_set_color(scols_line_get_cell(line, AT_UAS), verdict_colours[v.word]);
}

static void make_table(struct result_printer *p, bool legend)
{
        p->n_columns = _AT_MAX - 1;
        for (unsigned i = 0; i < p->b->n_patterns; i++)
                if (verdict_of_pattern(p->b, i).word != BENCH_SINGLE)
                        p->n_columns = _AT_MAX;
        p->table = table_new(columns, p->n_columns, legend);
        for (unsigned pattern = 0; pattern < p->b->n_patterns; pattern++) {
                enum driver rows[_DRIVER_MAX];
                size_t n = stats_drivers(p->b, pattern, rows);

                for (size_t i = 0; i < n; i++)
                        add_row(p, pattern, rows[i], i == 0, i + 1 == n);
        }
}

void bench_print_line(FILE *out, const char *key, bool again, const char *value)
{
        (void) fprintf(out, "%*s%c ", KEY_WIDTH, key, again ? ' ' : ':');
        fold_print(out, HARMLESS(value), KEY_WIDTH + 2);
}

void bench_print_notes(FILE *out, const struct notes *notes)
{
        for (size_t i = 0; i < notes->n; i++) {
                int n = fprintf(out, "%s[%zu] ", i == 0 ? "\n" : "", i + 1) - (i == 0);

                fold_print(out, HARMLESS(notes->text[i]), n > 0 ? (unsigned) n : 0);
        }
}

int bench_print(const struct bench *b, FILE *out, bool legend)
{
        static const char verdict[] = "Verdict:";
        struct result_printer p = {.b = b, .utf8 = style_utf8()};
        struct head_line head[HEAD_MAX];
        char text[2048];
        size_t n;

        if (b->finding.found) { /* it comes before everything else */
                (void) fputs(style_colours() ? SGR_RED : "", out);
                fold_print(out, HARMLESS(finding_text(b, text, sizeof(text))), 0);
                (void) fprintf(out, "%s\n", colour_end());
        }
        n = bench_head(b, true, head);
        for (size_t i = 0; i < n; i++)
                bench_print_line(out, head[i].key, false, head[i].value);
        (void) fputc('\n', out);
        make_table(&p, legend);
        (void) scols_table_set_stream(p.table, out);
        table_print(p.table, columns, p.n_columns);
        bench_print_notes(out, &p.notes);
        if (*verdict_overall(b, text, sizeof(text))) {
                text_add(text, sizeof(text), ".");
                (void) fprintf(out, "\n%s%s%s ", style_colours() ? SGR_BOLD : "", verdict, colour_end());
                fold_print(out, text, sizeof(verdict));
        }
        return ferror(out) ? -EIO : 0;
}

/* ---- Markdown ---- */

/* Formats as code: there nothing is markup, no name notifies a user, and no cell of a table ends. */
static void code(FILE *out, const char *s)
{
        (void) fputc('`', out);
        for (const char *p = HARMLESS(s); *p; p++)
                (void) fputc(*p == '`' ? '\'' : *p == '|' ? '/' : *p, out);
        (void) fputc('`', out);
}

/* A wider table does not fit into the column of a forum. LATENCY takes the place of a comparison. */
static bool is_shown(const struct result_printer *p, size_t column)
{
        return !p->brief || column == AT_PATTERN || column == AT_DRIVER || column == AT_MEDIAN || column == AT_RANGE ||
               column == (p->n_columns == _AT_MAX ? AT_UAS : AT_LATENCY);
}

static void markdown_table(struct result_printer *p, FILE *out)
{
        struct libscols_table *t = p->table;

        for (size_t i = 0; i < p->n_columns; i++)
                if (is_shown(p, i))
                        (void) fprintf(out, "| %s ", scols_cell_get_data(scols_column_get_header(scols_table_get_column(t, i))));
        (void) fprintf(out, "|\n");
        for (size_t i = 0; i < p->n_columns; i++)
                if (is_shown(p, i))
                        (void) fprintf(out, scols_column_is_right(scols_table_get_column(t, i)) ? "|--:" : "|---");
        (void) fprintf(out, "|\n");
        for (size_t row = 0; row < scols_table_get_nlines(t); row++) {
                for (size_t i = 0; i < p->n_columns; i++) {
                        struct libscols_cell *cell = scols_line_get_cell(scols_table_get_line(t, row), i);
                        const char *data = cell ? scols_cell_get_data(cell) : NULL;

                        if (is_shown(p, i))
                                (void) fprintf(out, "| %s ", data ? data : "");
                }
                (void) fprintf(out, "|\n");
        }
        scols_unref_table(t);
}

static int print_markdown(const struct bench *b, FILE *out, bool legend, bool brief)
{
        struct result_printer p = {.b = b, .markdown = true, .brief = brief, .utf8 = true};
        struct head_line head[HEAD_MAX];
        char text[2048];
        size_t n;

        (void) fprintf(out, "### uasctl bench\n\n");
        if (b->finding.found) {
                (void) finding_text(b, text, sizeof(text));
                (void) fprintf(out, "**Safety:** ");
                code(out, text);
                (void) fprintf(out, "\n\n");
        }
        if (*verdict_overall(b, text, sizeof(text)))
                (void) fprintf(out, "**Verdict: %s.**\n\n", text);
        n = bench_head(b, false, head);
        for (size_t i = 0; i < n; i++) {
                (void) fprintf(out, "- %s: ", head[i].key);
                code(out, head[i].value);
                (void) fputc('\n', out);
        }
        (void) fputc('\n', out);
        make_table(&p, legend);
        markdown_table(&p, out);
        for (size_t i = 0; i < p.notes.n; i++)
                (void) fprintf(out, "%s- [%zu] %s\n", i == 0 ? "\n" : "", i + 1, p.notes.text[i]);
        return ferror(out) ? -EIO : 0;
}

int bench_markdown(const struct bench *b, FILE *out, bool legend)
{
        return print_markdown(b, out, legend, true);
}

int bench_markdown_full(const struct bench *b, FILE *out, bool legend)
{
        return print_markdown(b, out, legend, false);
}
