/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/print.h"

#include "bench/tell/verdict.h"
#include "term/program.h"

/* Formats as code: there nothing is markup, no name notifies a user, and no cell of a table ends. */
static void code(FILE *out, const char *s)
{
        char harmless[4096];

        (void) harmless_sentence(s, harmless, sizeof(harmless));
        (void) fputc('`', out);
        for (const char *p = harmless; *p; p++)
                (void) fputc(*p == '`' ? '\'' : *p == '|' ? '/' : *p, out);
        (void) fputc('`', out);
}

static void table(FILE *out, struct libscols_table *t)
{
        size_t n = scols_table_get_ncols(t);

        for (size_t i = 0; i < n; i++)
                (void) fprintf(out, "| %s ", scols_cell_get_data(scols_column_get_header(scols_table_get_column(t, i))));
        (void) fprintf(out, "|\n");
        for (size_t i = 0; i < n; i++)
                (void) fprintf(out, scols_column_is_right(scols_table_get_column(t, i)) ? "|--:" : "|---");
        (void) fprintf(out, "|\n");
        for (size_t row = 0; row < scols_table_get_nlines(t); row++) {
                for (size_t i = 0; i < n; i++) {
                        struct libscols_cell *cell = scols_line_get_cell(scols_table_get_line(t, row), i);
                        const char *data = cell ? scols_cell_get_data(cell) : NULL;

                        (void) fprintf(out, "| %s ", data ? data : "");
                }
                (void) fprintf(out, "|\n");
        }
        scols_unref_table(t);
}

int bench_markdown(const struct bench *b, FILE *out)
{
        _cleanup_free_ struct notes *notes = need(calloc(1, sizeof(*notes)));
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
        table(out, bench_table_for_markdown(b, notes));
        for (size_t i = 0; i < notes->n; i++)
                (void) fprintf(out, "%s- [%zu] %s\n", i == 0 ? "\n" : "", i + 1, notes->text[i]);
        return ferror(out) ? -EIO : 0;
}
