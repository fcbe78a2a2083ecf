/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/json.h"

#include <math.h>

#include "bench/bench.h"
#include "bench/tell/doubts.h"
#include "bench/tell/verdict.h"
#include "term/json.h"
#include "term/program.h"

static void put_real(json_object *o, const char *key, double value)
{
        put(o, key, need(json_object_new_double(isfinite(value) ? value : 0)));
}

static void put_field(json_object *o, const struct field *f, const void *at)
{
        switch (f->type) {
        case FIELD_STRING:
                put_string_or_null(o, f->name, at);
                break;
        case FIELD_WORD:
                put_string(o, f->name, at);
                break;
        case FIELD_UINT:
                put_int(o, f->name, *(const unsigned *) at);
                break;
        case FIELD_UINT64:
        case FIELD_TIME:
                put_uint(o, f->name, *(const uint64_t *) at);
                break;
        case FIELD_REAL:
                put_real(o, f->name, *(const double *) at);
                break;
        case FIELD_KNOWN:
                if (*(const double *) at < 0)
                        put(o, f->name, NULL);
                else
                        put_real(o, f->name, *(const double *) at);
                break;
        case FIELD_BOOL:
                put_bool(o, f->name, *(const bool *) at);
                break;
        case FIELD_ERRNO:
                put_int(o, f->name, *(const int *) at);
                break;
        case FIELD_DRIVER:
                put_string(o, f->name, driver_to_string(*(const enum driver *) at));
                break;
        case FIELD_AXIS:
                put_string(o, f->name, bench_axis_to_string(*(const enum bench_axis *) at));
                break;
        case FIELD_SIDE:
                put(o, f->name, bench_json_fields(side_fields, at));
                break;
        }
}

static void put_fields(json_object *o, const struct field *fields, const void *from)
{
        for (const struct field *f = fields; f->name; f++)
                put_field(o, f, field_at(f, from));
}

json_object *bench_json_fields(const struct field *fields, const void *from)
{
        json_object *o = json_new();

        put_fields(o, fields, from);
        return o;
}

static json_object *json_conditions(const struct bench_conditions *c)
{
        json_object *o = bench_json_fields(conditions_fields, c), *drivers = json_list();

        for (enum driver d = DRIVER_USB_STORAGE; d <= DRIVER_UAS; d++) {
                json_object *one = bench_json_fields(queue_fields, &c->queues[d]);

                put_string(one, "driver", driver_to_string(d));
                append(drivers, one);
        }
        put(o, "drivers", drivers);
        return o;
}

static json_object *json_doubt(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt)
{
        json_object *o = json_new();
        char text[DOUBT_TEXT_MAX];

        put_string(o, "driver", driver_to_string(d));
        put_string(o, "doubt", bench_doubt_to_string(doubt));
        put_string(o, "text", doubt_text(b, pattern, d, doubt, text));
        return o;
}

json_object *bench_json_doubts(const struct bench *b, unsigned pattern, enum driver only)
{
        json_object *list = json_list();

        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                unsigned found = only == _DRIVER_MAX || only == d ? doubts_of(b, pattern, d) : 0;

                for (enum bench_doubt doubt = 0; doubt < _BENCH_DOUBT_MAX; doubt++)
                        if (found & (1U << doubt))
                                append(list, json_doubt(b, pattern, d, doubt));
        }
        return list;
}

static json_object *json_summary(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        static const char *const words[_STATS_MEASURE_MAX] = {"bytes_per_sec", "iops",   "mean_ns", "clat_mean_ns",
                                                              "p50_ns",        "p95_ns", "p99_ns"};
        json_object *o = json_new();
        struct samples s;
        struct summary sum;

        stats_samples(b, pattern, d, m, &s);
        stats_summary(&s, &sum);
        put_string(o, "driver", driver_to_string(d));
        put_string(o, "measure", words[m]);
        put_int(o, "rounds", (int64_t) sum.n);
        put_real(o, "median", sum.median);
        put_real(o, "average", sum.average);
        put_real(o, "min", sum.min);
        put_real(o, "max", sum.max);
        put_real(o, "spread_percent", sum.spread_percent);
        return o;
}

static json_object *json_summaries(const struct bench *b, unsigned pattern)
{
        json_object *list = json_list();

        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                struct samples s;

                stats_samples(b, pattern, d, STATS_BYTES, &s);
                for (enum stats_measure m = 0; s.n > 0 && m < _STATS_MEASURE_MAX; m++)
                        append(list, json_summary(b, pattern, d, m));
        }
        return list;
}

json_object *bench_json_verdict(const struct bench_verdict *v, const char *on)
{
        json_object *o = json_new();
        char text[VERDICT_TEXT_MAX];

        put_string(o, "verdict", bench_word_to_string(v->word));
        put_string_or_null(o, "text", verdict_text(v, on, text));
        put_real(o, "p", v->p);
        if (v->has_ratio) {
                put_real(o, "ratio", v->ratio.middle);
                put_real(o, "ratio_low", v->ratio.low);
                put_real(o, "ratio_high", v->ratio.high);
        }
        return o;
}

static json_object *json_result(const struct bench *b, unsigned pattern)
{
        json_object *o = json_new();
        char text[PATTERN_TEXT_MAX];
        struct bench_verdict v;

        verdict_of_pattern(b, pattern, &v);
        put_int(o, "pattern", pattern);
        put_string(o, "text", pattern_text(b, pattern, text));
        put(o, "figures", json_summaries(b, pattern));
        put(o, "comparison", bench_json_verdict(&v, " on UAS"));
        put(o, "doubts", bench_json_doubts(b, pattern, _DRIVER_MAX));
        return o;
}

static void put_lists(json_object *o, const struct bench *b)
{
        json_object *patterns = json_list(), *runs = json_list(), *results = json_list();

        for (size_t i = 0; i < b->n_patterns; i++) {
                append(patterns, bench_json_fields(pattern_fields, &b->patterns[i]));
                append(results, json_result(b, (unsigned) i));
        }
        for (size_t i = 0; i < b->n_runs; i++)
                append(runs, bench_json_fields(run_fields, &b->runs[i]));
        put(o, "results", results);
        put(o, "patterns", patterns);
        put(o, "runs", runs);
}

json_object *bench_json(const struct bench *b)
{
        json_object *o = json_new();
        char overall[2048];

        put(o, "finding", b->finding.found ? bench_json_fields(finding_fields, &b->finding) : NULL);
        put_int(o, "version", BENCH_JSON_VERSION);
        put_string(o, "id", b->id);
        put_fields(o, bench_fields, b);
        put_string_or_null(o, "verdict", verdict_overall(b, overall, sizeof(overall)));
        put(o, "conditions", json_conditions(&b->conditions));
        put_lists(o, b);
        return o;
}
