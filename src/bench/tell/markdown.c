/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/markdown.h"

#include "common/util.h"
#include "bench/tell/grid.h"
#include "bench/tell/head.h"
#include "bench/tell/units.h"
#include "bench/tell/verdict.h"
#include "term/style.h"

/* As code: there nothing is markup, no name is called, and a cell of a table has no ends in it. */
static void code(FILE *out, const char *s)
{
        char harmless[4096];

        (void) harmless_sentence(s, harmless, sizeof(harmless));
        (void) fputc('`', out);
        for (const char *p = harmless; *p; p++)
                (void) fputc(*p == '`' ? '\'' : *p == '|' ? '/' : *p, out);
        (void) fputc('`', out);
}

/* Of a driver: a row, but for its first cell. */
static void figures(FILE *out, const struct bench *b, unsigned pattern, enum driver d)
{
        enum stats_measure m = stats_figure(&b->patterns[pattern]);
        char text[UNIT_TEXT_MAX], median[RATE_TEXT_MAX];
        struct samples s;
        struct summary sum;

        stats_samples(b, pattern, d, m, &s);
        stats_summary(&s, &sum);
        (void) fprintf(out, " %s |", driver_label(d));
        if (sum.n == 0) {
                (void) fprintf(out, " - | | | | | | | |");
                return;
        }
        (void) fprintf(out, " **%s** |", rate_text(b, pattern, d, true, median));
        (void) fprintf(out, " %s |", figure_text(sum.min, m, true, text));
        (void) fprintf(out, " %s | %.1f %% |", figure_text(sum.max, m, true, text), sum.spread_percent);
        for (m = STATS_MEAN; m <= STATS_P99; m++) {
                double ns;

                stats_samples(b, pattern, d, m, &s);
                ns = stats_median(s.values, s.n);
                (void) fprintf(out, " %s |", ns > 0 ? figure_text(ns, m, true, text) : "-");
        }
}

static void pattern_rows(FILE *out, const struct bench *b, unsigned pattern, struct notes *notes)
{
        enum driver rows[_DRIVER_MAX];
        size_t n = drivers_of(b, pattern, rows);
        char text[PATTERN_TEXT_MAX], said[VERDICT_TEXT_MAX], numbers[NOTES_TEXT_MAX];
        struct bench_verdict v;

        verdict_of_pattern(b, pattern, &v);
        for (size_t i = 0; i < n; i++) {
                (void) fprintf(out, "| %s |", i == 0 ? pattern_text(&b->patterns[pattern], text) : "");
                figures(out, b, pattern, rows[i]);
                (void) fprintf(out, " %s | %s |\n", notes_of(notes, b, pattern, rows[i], numbers),
                        i + 1 == n ? verdict_short(&v, said) : "");
        }
}

static void grid_rows(FILE *out, const struct bench *b, const struct grid *g, size_t row, enum stats_measure m)
{
        enum driver drivers[_DRIVER_MAX];
        size_t n = grid_drivers(b, g, row, drivers);
        char text[GRID_TEXT_MAX], figure[UNIT_TEXT_MAX];

        for (size_t i = 0; i < n; i++) {
                (void) fprintf(out, "| %s | %s |", i == 0 ? grid_row_text(b, g, row, text) : "", driver_label(drivers[i]));
                for (size_t k = 0; k < g->n_across; k++)
                        (void) fprintf(out, " %s |", grid_cell_text(b, g, row, k, drivers[i], m, true, figure));
                (void) fputc('\n', out);
        }
}

static int grids(FILE *out, const struct bench *b)
{
        char title[GRID_TEXT_MAX];
        struct grid g;
        int r = grid_make(b, &g);

        if (r < 0)
                return r;
        for (enum stats_measure m = 0; g.n_rows > 0 && m < GRID_MEASURES; m++) {
                (void) fprintf(out, "\n%s:\n\n| Pattern | Driver |", grid_title(&g, m, title));
                for (size_t i = 0; i < g.n_across; i++)
                        (void) fprintf(out, " %.0f |", g.across[i]);
                (void) fprintf(out, "\n|---|---|");
                for (size_t i = 0; i < g.n_across; i++)
                        (void) fprintf(out, "--:|");
                (void) fputc('\n', out);
                for (size_t row = 0; row < g.n_rows; row++)
                        grid_rows(out, b, &g, row, m);
        }
        grid_done(&g);
        return 0;
}

int bench_markdown(const struct bench *b, FILE *out)
{
        _cleanup_free_ struct notes *notes = calloc(1, sizeof(*notes));
        struct head_line head[HEAD_MAX];
        char text[2048];
        size_t n;
        int r;

        if (!notes)
                return -ENOMEM;
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
        (void) fprintf(out, "\n| Pattern | Driver | Median | Min | Max | Spread | Mean | p50 | p95 | p99 | Notes | UAS is |\n"
                     "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n");
        for (unsigned i = 0; i < b->n_patterns; i++)
                pattern_rows(out, b, i, notes);
        for (size_t i = 0; i < notes->n; i++)
                (void) fprintf(out, "%s- [%zu] %s\n", i == 0 ? "\n" : "", i + 1, notes->text[i]);
        r = grids(out, b);
        return r < 0 ? r : ferror(out) ? -EIO : 0;
}
