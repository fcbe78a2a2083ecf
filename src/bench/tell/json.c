/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/json.h"

#include <math.h>

#include "bench/fields.h"
#include "bench/tell/doubts.h"
#include "bench/tell/verdict.h"
#include "term/json.h"

static json_object *json_of(const struct field *fields, const void *from);

static json_object *json_real(double x)
{
        return json_object_new_double(isfinite(x) ? x : 0);
}

static json_object *json_string(const char *s)
{
        return isempty(s) ? NULL : json_object_new_string(s);
}

/* *ret_null: NULL is its value. */
static json_object *json_field(const struct field *f, const void *at, bool *ret_null)
{
        *ret_null = false;
        switch (f->type) {
        case FIELD_STRING:
                *ret_null = isempty(*(const char *const *) at);
                return json_string(*(const char *const *) at);
        case FIELD_WORD:
                return json_object_new_string(*(const char *const *) at ?: "");
        case FIELD_UINT:
                return json_object_new_int64(*(const unsigned *) at);
        case FIELD_UINT64:
        case FIELD_TIME:
                return json_object_new_uint64(*(const uint64_t *) at);
        case FIELD_REAL:
                return json_real(*(const double *) at);
        case FIELD_KNOWN:
                *ret_null = *(const double *) at < 0;
                return *ret_null ? NULL : json_real(*(const double *) at);
        case FIELD_BOOL:
                return json_object_new_boolean(*(const bool *) at);
        case FIELD_ERRNO:
                return json_object_new_int(*(const int *) at);
        case FIELD_DRIVER:
                return json_object_new_string(driver_to_string(*(const enum driver *) at));
        case FIELD_AXIS:
                return json_object_new_string(bench_axis_to_string(*(const enum bench_axis *) at));
        case FIELD_SIDE:
                return json_of(side_fields, at);
        }
        return NULL;
}

static bool put_fields(json_object *o, const struct field *fields, const void *from)
{
        for (const struct field *f = fields; o && f->name; f++) {
                bool null;
                json_object *value = json_field(f, field_at(f, from), &null);

                if (!put(o, f->name, value, null))
                        return false;
        }
        return o;
}

static json_object *json_of(const struct field *fields, const void *from)
{
        json_object *o = json_object_new_object();

        return whole(o, put_fields(o, fields, from));
}

static bool put_real(json_object *o, const char *key, double value)
{
        return put(o, key, json_real(value), false);
}

static json_object *json_conditions(const struct bench_conditions *c)
{
        json_object *o = json_of(conditions_fields, c), *drivers = json_object_new_array();
        bool ok = o && drivers;

        for (enum driver d = DRIVER_USB_STORAGE; ok && d <= DRIVER_UAS; d++) {
                json_object *one = json_of(queue_fields, &c->queues[d]);

                ok = append(drivers, whole(one, one && put_string(one, "driver", driver_to_string(d))));
        }
        drivers = whole(drivers, ok);
        return whole(o, ok && put(o, "drivers", drivers, false));
}

static json_object *json_doubt(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt)
{
        json_object *o = json_object_new_object();
        char text[DOUBT_TEXT_MAX];

        return whole(o, o && put_string(o, "driver", driver_to_string(d)) &&
                                put_string(o, "doubt", bench_doubt_to_string(doubt)) &&
                                put_string(o, "text", doubt_text(b, pattern, d, doubt, text)));
}

json_object *bench_json_doubts(const struct bench *b, unsigned pattern, enum driver only)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (enum driver d = 0; ok && d < _DRIVER_MAX; d++) {
                unsigned found = only == _DRIVER_MAX || only == d ? doubts_of(b, pattern, d) : 0;

                for (enum bench_doubt doubt = 0; ok && doubt < _BENCH_DOUBT_MAX; doubt++)
                        if (found & (1U << doubt))
                                ok = append(array, json_doubt(b, pattern, d, doubt));
        }
        return whole(array, ok);
}

static json_object *json_summary(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m)
{
        static const char *const words[_STATS_MEASURE_MAX] = {"bytes_per_sec", "iops", "mean_ns", "p50_ns", "p95_ns", "p99_ns"};
        json_object *o = json_object_new_object();
        struct samples s;
        struct summary sum;

        stats_samples(b, pattern, d, m, &s);
        stats_summary(&s, &sum);
        return whole(o, o && put_string(o, "driver", driver_to_string(d)) && put_string(o, "measure", words[m]) &&
                                put_int(o, "rounds", (int64_t) sum.n) && put_real(o, "median", sum.median) &&
                                put_real(o, "min", sum.min) && put_real(o, "max", sum.max) &&
                                put_real(o, "spread_percent", sum.spread_percent));
}

static json_object *json_summaries(const struct bench *b, unsigned pattern)
{
        json_object *array = json_object_new_array();
        bool ok = array;

        for (enum driver d = 0; ok && d < _DRIVER_MAX; d++) {
                struct samples s;

                stats_samples(b, pattern, d, STATS_BYTES, &s);
                for (enum stats_measure m = 0; ok && s.n > 0 && m < _STATS_MEASURE_MAX; m++)
                        ok = append(array, json_summary(b, pattern, d, m));
        }
        return whole(array, ok);
}

json_object *bench_json_verdict(const struct bench_verdict *v, const char *on)
{
        json_object *o = json_object_new_object();
        char text[VERDICT_TEXT_MAX];
        bool ok = o && put_string(o, "verdict", bench_word_to_string(v->word)) &&
                  put_string_or_null(o, "text", verdict_text(v, on, text)) && put_real(o, "p", v->p);

        if (ok && v->has_ratio)
                ok = put_real(o, "ratio", v->ratio.middle) && put_real(o, "ratio_low", v->ratio.low) &&
                     put_real(o, "ratio_high", v->ratio.high);
        return whole(o, ok);
}

static json_object *json_result(const struct bench *b, unsigned pattern)
{
        json_object *o = json_object_new_object();
        char text[PATTERN_TEXT_MAX];
        struct bench_verdict v;

        verdict_of_pattern(b, pattern, &v);
        return whole(o, o && put_int(o, "pattern", pattern) && put_string(o, "text", pattern_text(&b->patterns[pattern], text)) &&
                                put(o, "figures", json_summaries(b, pattern), false) &&
                                put(o, "comparison", bench_json_verdict(&v, " on UAS"), false) &&
                                put(o, "doubts", bench_json_doubts(b, pattern, _DRIVER_MAX), false));
}

static bool put_lists(json_object *o, const struct bench *b)
{
        json_object *patterns = json_object_new_array(), *runs = json_object_new_array(), *results = json_object_new_array();
        bool ok = patterns && runs && results;

        for (size_t i = 0; ok && i < b->n_patterns; i++)
                ok = append(patterns, json_of(pattern_fields, &b->patterns[i])) && append(results, json_result(b, (unsigned) i));
        for (size_t i = 0; ok && i < b->n_runs; i++)
                ok = append(runs, json_of(run_fields, &b->runs[i]));
        ok = put(o, "results", whole(results, ok), false) && ok;
        ok = put(o, "patterns", whole(patterns, ok), false) && ok;
        return put(o, "runs", whole(runs, ok), false) && ok;
}

static bool put_finding(json_object *o, const struct bench_finding *f)
{
        return put(o, "finding", f->found ? json_of(finding_fields, f) : NULL, !f->found);
}

json_object *bench_json(const struct bench *b)
{
        json_object *o = json_object_new_object();
        char overall[2048];

        return whole(o, o && put_finding(o, &b->finding) && put_int(o, "version", BENCH_JSON_VERSION) &&
                                put_string(o, "id", b->id) && put_fields(o, bench_fields, b) &&
                                put_string_or_null(o, "verdict", verdict_overall(b, overall, sizeof(overall))) &&
                                put(o, "conditions", json_conditions(&b->conditions), false) && put_lists(o, b));
}
