/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>

#include "common/util.h"
#include "term/json.h"
#include "term/terminal.h"

#define DEPTH_MAX 8
#define PATTERNS_MAX 256
#define RUNS_MAX 65536
#define REAL_MAX 1e18
#define ERRNO_MAX 4095

/* ---- the members of a struct, both ways, by the tables of bench.h ---- */

static json_object *new_real(double value)
{
        return need(json_object_new_double(isfinite(value) ? value : 0));
}

static json_object *field_value(const struct field *f, const void *at)
{
        switch (f->type) {
        case FIELD_STRING:
                return new_string_or_null(at);
        case FIELD_WORD:
                return new_string(at);
        case FIELD_UINT:
                return new_int(*(const unsigned *) at);
        case FIELD_UINT64:
        case FIELD_TIME:
                return new_uint(*(const uint64_t *) at);
        case FIELD_REAL:
                return new_real(*(const double *) at);
        case FIELD_KNOWN:
                return *(const double *) at < 0 ? NULL : new_real(*(const double *) at);
        case FIELD_BOOL:
                return new_bool(*(const bool *) at);
        case FIELD_ERRNO:
                return new_int(*(const int *) at);
        case FIELD_DRIVER:
                return new_string(driver_to_string(*(const enum driver *) at));
        case FIELD_AXIS:
                return new_string(bench_axes[*(const enum bench_axis *) at]);
        case FIELD_SIDE:
                return put_fields(json_new(), side_fields, at);
        }
        return NULL;
}

json_object *put_fields(json_object *o, const struct field *fields, const void *from)
{
        for (const struct field *f = fields; f->name; f++)
                put(o, f->name, field_value(f, (const char *) from + f->offset));
        return o;
}

/* A list of n structs of that size. */
static json_object *fields_list(const struct field *fields, size_t size, const void *from, size_t n)
{
        json_object *list = json_list();

        for (size_t i = 0; i < n; i++)
                append(list, put_fields(json_new(), fields, (const char *) from + i * size));
        return list;
}

/* ---- a result ---- */

json_object *bench_json_doubts(json_object *list, const struct bench *b, unsigned pattern, enum driver d)
{
        struct doubts doubts;

        (void) doubts_of(b, pattern, d, &doubts);
        for (enum bench_doubt i = 0; i < _BENCH_DOUBT_MAX; i++)
                if (*doubts.text[i])
                        append(list, json_make({"driver", new_string(driver_to_string(d))},
                                               {"doubt", new_string(bench_doubts[i])}, {"text", new_string(doubts.text[i])}));
        return list;
}

json_object *bench_json_verdict(const struct bench_verdict *v, const char *on)
{
        json_object *o = json_make({"verdict", new_string(bench_words[v->word])},
                                   {"text", new_string_or_null(VERDICT_TEXT(v, on))}, {"p", new_real(v->p)});

        return !v->has_ratio ? o
                             : put_members(o, {"ratio", new_real(v->ratio.middle)}, {"ratio_low", new_real(v->ratio.low)},
                                           {"ratio_high", new_real(v->ratio.high)});
}

static json_object *json_result(const struct bench *b, unsigned pattern)
{
        static const char *const words[_STATS_MEASURE_MAX] = {"bytes_per_sec", "iops",   "mean_ns", "clat_mean_ns",
                                                              "p50_ns",        "p95_ns", "p99_ns"};
        json_object *figures = json_list(), *doubts = json_list();
        const struct bench_verdict v = verdict_of_pattern(b, pattern);

        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                (void) bench_json_doubts(doubts, b, pattern, d);
                for (enum stats_measure m = 0; m < _STATS_MEASURE_MAX; m++) {
                        struct summary sum = stats_of(b, pattern, d, m);

                        if (sum.n == 0)
                                break;
                        append(figures, json_make({"driver", new_string(driver_to_string(d))}, {"measure", new_string(words[m])},
                                                  {"rounds", new_int((int64_t) sum.n)}, {"median", new_real(sum.median)},
                                                  {"average", new_real(sum.average)}, {"min", new_real(sum.min)},
                                                  {"max", new_real(sum.max)}, {"spread_percent", new_real(sum.spread_percent)}));
                }
        }
        return json_make({"pattern", new_int(pattern)}, {"text", new_string(PATTERN_TEXT(b, pattern))}, {"figures", figures},
                         {"comparison", bench_json_verdict(&v, " on UAS")}, {"doubts", doubts});
}

static json_object *json_conditions(const struct bench_conditions *c)
{
        struct bench_queue queues[] = {c->queues[DRIVER_USB_STORAGE], c->queues[DRIVER_UAS]};

        queues[0].driver = DRIVER_USB_STORAGE;
        queues[1].driver = DRIVER_UAS;
        return put_members(put_fields(json_new(), conditions_fields, c),
                           {"drivers", fields_list(queue_fields, sizeof(*queues), queues, ELEMENTSOF(queues))});
}

json_object *bench_json(const struct bench *b)
{
        json_object *finding = b->finding.found ? put_fields(json_new(), finding_fields, &b->finding) : NULL;
        json_object *o = json_make({"finding", finding}, {"version", new_int(BENCH_JSON_VERSION)}), *results = json_list();
        char overall[2048];

        for (unsigned i = 0; i < b->n_patterns; i++)
                append(results, json_result(b, i));
        put_fields(o, bench_fields, b);
        return put_members(o, {"verdict", new_string_or_null(verdict_overall(b, overall, sizeof(overall)))},
                           {"conditions", json_conditions(&b->conditions)}, {"results", results},
                           {"patterns", fields_list(pattern_fields, sizeof(*b->patterns), b->patterns, b->n_patterns)},
                           {"runs", fields_list(run_fields, sizeof(*b->runs), b->runs, b->n_runs)});
}

/* ---- the way back ---- */

static bool get_fields(json_object *o, const struct field *fields, void *to);

/* Any program may have printed the number, also without decimals. */
static bool get_real(json_object *value, double *ret)
{
        double x = json_object_get_double(value);

        if ((!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int)) || !isfinite(x) ||
            x < 0 || x > REAL_MAX)
                return false;
        *ret = x;
        return true;
}

/* Finds the value of an enum by its word. */
static bool get_word(json_object *value, const struct field *f, unsigned n, unsigned *ret)
{
        for (*ret = 0; *ret < n; ++*ret) {
                _cleanup_(json_putp) json_object *word = field_value(f, ret);

                if (json_object_equal(value, word))
                        return true;
        }
        return false;
}

/* json-c converts a value of any type. It is the right one if it is the same after it has been written again. */
static bool get_field(json_object *o, const struct field *f, void *at)
{
        json_object *value = json_object_object_get(o, f->name);
        _cleanup_(json_putp) json_object *again = NULL;

        switch (f->type) {
        case FIELD_STRING:
        case FIELD_WORD:
                (void) copy_string(at, f->max, json_object_get_string(value) ?: "");
                break;
        case FIELD_UINT:
                *(unsigned *) at = (unsigned) json_object_get_uint64(value);
                if (*(unsigned *) at > (f->max ?: UINT_MAX))
                        return false;
                break;
        case FIELD_UINT64:
        case FIELD_TIME:
                *(uint64_t *) at = json_object_get_uint64(value);
                break;
        case FIELD_REAL:
                return get_real(value, at);
        case FIELD_KNOWN:
                *(double *) at = -1;
                return !value || get_real(value, at);
        case FIELD_BOOL:
                *(bool *) at = json_object_get_boolean(value);
                break;
        case FIELD_ERRNO:
                *(int *) at = json_object_get_int(value);
                if (*(int *) at > 0 || *(int *) at < -ERRNO_MAX)
                        return false;
                break;
        case FIELD_DRIVER:
                return get_word(value, f, _DRIVER_MAX, at);
        case FIELD_AXIS:
                return get_word(value, f, _BENCH_AXIS_MAX, at);
        case FIELD_SIDE:
                return get_fields(value, side_fields, at);
        }
        again = field_value(f, at);
        return json_object_equal(value, again);
}

/* Returns false if a member is not as put_fields() writes it. */
static bool get_fields(json_object *o, const struct field *fields, void *to)
{
        for (const struct field *f = fields; f->name; f++)
                if (!get_field(o, f, (char *) to + f->offset))
                        return false;
        return true;
}

/* ret: gets an array, to be freed in either case. */
static bool get_list(json_object *o, const char *key, const struct field *fields, size_t size, size_t max, void *ret,
                     size_t *ret_n)
{
        json_object *list = json_object_object_get(o, key);
        char *items;
        size_t n;

        if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) > max)
                return false;
        n = json_object_array_length(list);
        *(void **) ret = items = need(calloc(n + 1, size));
        *ret_n = n;
        for (size_t i = 0; i < n; i++)
                if (!get_fields(json_object_array_get_idx(list, i), fields, items + i * size))
                        return false;
        return true;
}

static bool get_conditions(json_object *o, struct bench_conditions *ret)
{
        _cleanup_free_ struct bench_queue *queues = NULL;
        size_t n;

        if (!get_fields(o, conditions_fields, ret) ||
            !get_list(o, "drivers", queue_fields, sizeof(*queues), _DRIVER_MAX, &queues, &n))
                return false;
        for (size_t i = 0; i < n; i++)
                ret->queues[queues[i].driver] = queues[i];
        return true;
}

/* Any program may have written it. Figures that follow from the runs are not read. */
static bool get_bench(json_object *o, struct bench *ret)
{
        json_object *finding = json_object_object_get(o, "finding");

        ret->finding.found = finding;
        if (!get_fields(o, bench_fields, ret) || ret->id[strspn(ret->id, "0123456789abcdef-")] ||
            !get_conditions(json_object_object_get(o, "conditions"), &ret->conditions) ||
            (finding && !get_fields(finding, finding_fields, &ret->finding)) ||
            !get_list(o, "patterns", pattern_fields, sizeof(*ret->patterns), PATTERNS_MAX, &ret->patterns, &ret->n_patterns) ||
            !get_list(o, "runs", run_fields, sizeof(*ret->runs), RUNS_MAX, &ret->runs, &ret->n_runs))
                return false;
        for (size_t i = 0; i < ret->n_runs; i++)
                if (ret->runs[i].pattern >= ret->n_patterns)
                        return false;
        return true;
}

int bench_json_parse(const char *text, size_t size, struct bench *ret)
{
        _cleanup_(json_putp) json_object *o = NULL;
        _cleanup_(bench_done) struct bench b = {};
        json_object *version;
        json_tokener *tokener;
        size_t end;

        if (size > BENCH_JSON_SIZE_MAX)
                return -EFBIG;
        tokener = need(json_tokener_new_ex(DEPTH_MAX));
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(tokener, text, (int) size);
        end = json_tokener_get_parse_end(tokener);
        json_tokener_free(tokener);
        version = json_object_object_get(o, "version");
        if (strspn(text + end, " \n") != size - end || !json_object_is_type(version, json_type_int) ||
            json_object_get_int64(version) <= 0)
                return -EBADMSG;
        if (json_object_get_int64(version) != BENCH_JSON_VERSION)
                return -EPROTONOSUPPORT;
        if (!get_bench(o, &b))
                return -EBADMSG;
        *ret = TAKE_STRUCT(b);
        return 0;
}

int bench_json_read(int dirfd, const char *path, struct bench *ret)
{
        int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (dirfd == AT_FDCWD ? 0 : O_NOFOLLOW);
        _cleanup_close_ int fd = openat(dirfd, path, flags);
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = read_whole(fd, BENCH_JSON_SIZE_MAX, &text, &size);
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;
        return bench_json_parse(text, size, ret);
}
