/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/json.h"

#include <math.h>

#include "ctl/bench/doubts.h"
#include "ctl/bench/verdict.h"
#include "term/json.h"

static const char *const axes[_BENCH_AXIS_MAX] = {
        [BENCH_AXIS_NONE] = "none",     [BENCH_AXIS_DEPTH] = "depth",     [BENCH_AXIS_JOBS] = "jobs",
        [BENCH_AXIS_REGION] = "region", [BENCH_AXIS_CLIENTS] = "clients",
};

const char *bench_axis_to_string(enum bench_axis a)
{
        return axes[a];
}

int bench_axis_from_string(const char *s)
{
        for (int i = 0; i < _BENCH_AXIS_MAX; i++)
                if (streq(axes[i], s))
                        return i;
        return -EINVAL;
}

static bool put_uint(json_object *o, const char *key, uint64_t value)
{
        return put(o, key, json_object_new_uint64(value), false);
}

static bool put_real(json_object *o, const char *key, double value)
{
        return put(o, key, json_object_new_double(isfinite(value) ? value : 0), false);
}

static bool put_bool(json_object *o, const char *key, bool value)
{
        return put(o, key, json_object_new_boolean(value), false);
}

/* Negative: null. */
static bool put_known(json_object *o, const char *key, double value)
{
        return value >= 0 ? put_real(o, key, value) : put(o, key, NULL, true);
}

static json_object *json_pattern(const struct bench_pattern *p)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "name", p->name ?: "") && put_string(o, "rw", p->rw ?: "") &&
                                    put_string_or_null(o, "engine", p->engine) && put_uint(o, "block_size", p->block_size) &&
                                    put_uint(o, "size", p->size) && put_uint(o, "iodepth", p->iodepth) &&
                                    put_uint(o, "numjobs", p->numjobs) && put_uint(o, "read_percent", p->read_percent) &&
                                    put_bool(o, "random", p->random) && put_bool(o, "direct", p->direct) &&
                                    put_bool(o, "sync_engine", p->sync_engine) && put_bool(o, "time_based", p->time_based) &&
                                    put_uint(o, "runtime_sec", p->runtime_sec) && put_uint(o, "ramp_sec", p->ramp_sec) &&
                                    put_uint(o, "fsync", p->fsync) && put_uint(o, "fdatasync", p->fdatasync) &&
                                    put_real(o, "axis", p->axis))
                 : NULL;
}

static json_object *json_side(const struct bench_side *s)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_uint(o, "bytes", s->bytes) && put_uint(o, "ios", s->ios) &&
                                    put_real(o, "bytes_per_sec", s->bytes_per_sec) && put_real(o, "iops", s->iops) &&
                                    put_real(o, "mean_ns", s->mean_ns) && put_uint(o, "p50_ns", s->p50_ns) &&
                                    put_uint(o, "p95_ns", s->p95_ns) && put_uint(o, "p99_ns", s->p99_ns) &&
                                    put_real(o, "slat_mean_ns", s->slat_mean_ns))
                 : NULL;
}

static json_object *json_run(const struct bench_run *r)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_uint(o, "pattern", r->pattern) && put_string(o, "driver", driver_to_string(r->driver)) &&
                                    put_uint(o, "round", r->round) && put_uint(o, "order", r->order) &&
                                    put_uint(o, "started_usec", r->started_usec) &&
                                    put_uint(o, "runtime_usec", r->runtime_usec) && put_uint(o, "region", r->region) &&
                                    put(o, "read", json_side(&r->read), false) &&
                                    put(o, "write", json_side(&r->write), false) &&
                                    put(o, "sync", json_side(&r->sync), false) &&
                                    put_real(o, "depth_share", r->depth_share) &&
                                    put_real(o, "cpu_percent", r->cpu_percent) &&
                                    put_known(o, "other_bytes_per_sec", r->other_bytes_per_sec) &&
                                    put_known(o, "device_read_bytes", r->device_read_bytes) &&
                                    put_known(o, "device_written_bytes", r->device_written_bytes) &&
                                    put_int(o, "error", r->error) && put_string_or_null(o, "host", r->host))
                 : NULL;
}

static json_object *json_driver(const struct bench_conditions *c, enum driver d)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "driver", driver_to_string(d)) &&
                                    put_string_or_null(o, "scheduler", c->scheduler[d]) &&
                                    put_uint(o, "queue_depth", c->queue_depth[d]) &&
                                    put_uint(o, "nr_requests", c->nr_requests[d]))
                 : NULL;
}

static json_object *json_conditions(const struct bench_conditions *c)
{
        json_object *o = json_object_new_object(), *drivers = json_object_new_array();
        bool ok = o && drivers;

        for (enum driver d = DRIVER_USB_STORAGE; ok && d <= DRIVER_UAS; d++)
                ok = append(drivers, json_driver(c, d));
        if (!ok) {
                json_object_put(drivers);
                return whole(o, false);
        }
        return whole(o, put(o, "drivers", drivers, false) && put_string_or_null(o, "model", c->model) &&
                                put_string_or_null(o, "bridge", c->bridge) && put_string_or_null(o, "firmware", c->firmware) &&
                                put_string_or_null(o, "serial", c->serial) && put_string_or_null(o, "controller", c->controller) &&
                                put_string_or_null(o, "kernel", c->kernel) && put_string_or_null(o, "fio", c->fio) &&
                                put_string_or_null(o, "path", c->path) && put_uint(o, "speed_mbps", c->speed_mbps) &&
                                put_uint(o, "disk_size", c->disk_size) && put_uint(o, "memory", c->memory) &&
                                put_bool(o, "rotational", c->rotational));
}

static json_object *json_finding(const struct bench_finding *f)
{
        json_object *o = json_object_new_object();

        return o ? whole(o, put_string(o, "driver", driver_to_string(f->driver)) && put_uint(o, "run", f->run) &&
                                    put_string_or_null(o, "what", f->what))
                 : NULL;
}

static json_object *json_doubt(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt)
{
        json_object *o = json_object_new_object();
        char text[DOUBT_TEXT_MAX];

        return o ? whole(o, put_string(o, "driver", driver_to_string(d)) &&
                                    put_string(o, "doubt", bench_doubt_to_string(doubt)) &&
                                    put_string(o, "text", doubt_text(b, pattern, d, doubt, text)))
                 : NULL;
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
        return o ? whole(o, put_string(o, "driver", driver_to_string(d)) && put_string(o, "measure", words[m]) &&
                                    put_uint(o, "rounds", sum.n) && put_real(o, "median", sum.median) &&
                                    put_real(o, "min", sum.min) && put_real(o, "max", sum.max) &&
                                    put_real(o, "spread_percent", sum.spread_percent))
                 : NULL;
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

        return o ? whole(o, put_string(o, "verdict", bench_word_to_string(v->word)) &&
                                    put_string_or_null(o, "text", verdict_text(v, on, text)) && put_real(o, "p", v->p) &&
                                    (!v->has_ratio || (put_real(o, "ratio", v->ratio.middle) &&
                                                       put_real(o, "ratio_low", v->ratio.low) &&
                                                       put_real(o, "ratio_high", v->ratio.high))))
                 : NULL;
}

static json_object *json_result(const struct bench *b, unsigned pattern)
{
        json_object *o = json_object_new_object();
        char text[PATTERN_TEXT_MAX];
        struct bench_verdict v;

        verdict_of_pattern(b, pattern, &v);
        return o ? whole(o, put_uint(o, "pattern", pattern) && put_string(o, "text", pattern_text(&b->patterns[pattern], text)) &&
                                    put(o, "figures", json_summaries(b, pattern), false) &&
                                    put(o, "comparison", bench_json_verdict(&v, " on UAS"), false) &&
                                    put(o, "doubts", bench_json_doubts(b, pattern, _DRIVER_MAX), false))
                 : NULL;
}

/* Three lists of the same making. */
static bool put_lists(json_object *o, const struct bench *b)
{
        json_object *patterns = json_object_new_array(), *runs = json_object_new_array(), *results = json_object_new_array();
        bool ok = patterns && runs && results;

        for (size_t i = 0; ok && i < b->n_patterns; i++)
                ok = append(patterns, json_pattern(&b->patterns[i])) && append(results, json_result(b, (unsigned) i));
        for (size_t i = 0; ok && i < b->n_runs; i++)
                ok = append(runs, json_run(&b->runs[i]));
        ok = put(o, "results", whole(results, ok), false) && ok;
        ok = put(o, "patterns", whole(patterns, ok), false) && ok;
        return put(o, "runs", whole(runs, ok), false) && ok;
}

json_object *bench_json(const struct bench *b)
{
        json_object *o = json_object_new_object();
        char overall[2048];

        return o ? whole(o, put_int(o, "version", BENCH_JSON_VERSION) && put_string(o, "id", b->id) &&
                                    put_string(o, "profile", b->profile ?: "") &&
                                    put_string(o, "axis", bench_axis_to_string(b->axis)) &&
                                    put_uint(o, "started_usec", b->started_usec) &&
                                    put_bool(o, "interrupted", b->interrupted) && put_bool(o, "single", b->single) &&
                                    put(o, "finding", b->finding.found ? json_finding(&b->finding) : NULL, !b->finding.found) &&
                                    put_string_or_null(o, "verdict", verdict_overall(b, overall, sizeof(overall))) &&
                                    put(o, "conditions", json_conditions(&b->conditions), false) && put_lists(o, b))
                 : NULL;
}
