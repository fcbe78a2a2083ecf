/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <time.h>

#include "common/util.h"
#include "term/json.h"

/* RFC 4180. Text that a spreadsheet would read as a formula gets an apostrophe in front. */
static void text(FILE *out, const char *s)
{
        char harmless[4096];
        bool formula, quotes;

        (void) make_harmless(s, harmless, sizeof(harmless));
        formula = harmless[0] && strchr("=+-@", harmless[0]);
        quotes = formula || strpbrk(harmless, ",\"\r\n");
        (void) fprintf(out, "%s%s", quotes ? "\"" : "", formula ? "'" : "");
        for (const char *p = harmless; *p; p++)
                (void) fprintf(out, "%s%c", *p == '"' ? "\"" : "", *p);
        (void) fputs(quotes ? "\"" : "", out);
}

static void value(FILE *out, const struct field *f, json_object *v)
{
        uint64_t usec = json_object_get_uint64(v);
        time_t t = (time_t) (usec / USEC_PER_SEC);
        char when[32] = "";
        struct tm tm;

        if (f->type == FIELD_TIME) {
                if (usec > 0 && gmtime_r(&t, &tm))
                        (void) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
                (void) fputs(when, out);
        } else if (json_object_is_type(v, json_type_boolean))
                (void) fprintf(out, "%i", json_object_get_boolean(v));
        else if (json_object_is_type(v, json_type_double))
                (void) fprintf(out, "%.15g", json_object_get_double(v));
        else if (json_object_is_type(v, json_type_int))
                (void) fputs(json_object_get_string(v), out);
        else if (v)
                text(out, json_object_get_string(v));
}

/* from: NULL prints the names of the columns. */
static void columns(FILE *out, const struct field *fields, const char *prefix, const void *from)
{
        json_object *values = from ? put_fields(json_new(), fields, from) : NULL;

        for (const struct field *f = fields; f->name; f++) {
                char inner[32];

                if (f->column && !*f->column)
                        continue;
                if (f->type == FIELD_SIDE) {
                        (void) snprintf(inner, sizeof(inner), "%s_", f->name);
                        columns(out, side_fields, inner, from ? (const char *) from + f->offset : NULL);
                        continue;
                }
                if (from)
                        value(out, f, json_object_object_get(values, f->name));
                else
                        (void) fprintf(out, "%s%s", prefix, f->column ?: f->name);
                (void) fputc(',', out);
        }
        json_object_put(values);
}

/* r: NULL prints the names of the columns. */
static void line(FILE *out, const struct bench *b, const struct bench_run *r)
{
        columns(out, bench_fields, "", r ? b : NULL);
        columns(out, pattern_fields, "", r ? &b->patterns[r->pattern] : NULL);
        columns(out, run_fields, "", r);
        columns(out, queue_fields, "", r ? &b->conditions.queues[r->driver] : NULL);
        columns(out, conditions_fields, "", r ? &b->conditions : NULL);
        (void) fprintf(out, "%s\r\n", !r ? "counted" : stats_run_counts(r) ? "1" : "0");
}

int bench_csv(const struct bench *b, FILE *out, bool legend)
{
        if (legend)
                line(out, b, NULL);
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern < b->n_patterns)
                        line(out, b, &b->runs[i]);
        return ferror(out) ? -EIO : 0;
}
