/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/json.h"

#include <fcntl.h>

#include "bench/tell/doubts.h"
#include "common/util.h"
#include "term/json.h"
#include "term/program.h"

#define DEPTH_MAX 8
#define PATTERNS_MAX 256
#define RUNS_MAX 65536

static void append_doubts(json_object *list, const struct bench *b, unsigned pattern, enum driver d)
{
        struct doubts doubts;

        (void) doubts_of(b, pattern, d, &doubts);
        for (enum bench_doubt i = 0; i < _BENCH_DOUBT_MAX; i++)
                if (*doubts.text[i])
                        append(list,
                               json_make({"driver", new_string(driver_to_string(d))},
                                         {"doubt", new_string(bench_doubt_to_string(i))}, {"text", new_string(doubts.text[i])}));
}

json_object *bench_json_doubts(const struct bench *b, unsigned pattern, enum driver d)
{
        json_object *list = json_list();

        append_doubts(list, b, pattern, d);
        return list;
}

json_object *bench_json_verdict(const struct bench_verdict *v, const char *on)
{
        json_object *o = json_new();
        char text[VERDICT_TEXT_MAX];

        put_string(o, "verdict", bench_word_to_string(v->word));
        put_string_or_null(o, "text", verdict_text(v, on, text));
        put(o, "p", new_real(v->p));
        if (v->has_ratio) {
                put(o, "ratio", new_real(v->ratio.middle));
                put(o, "ratio_low", new_real(v->ratio.low));
                put(o, "ratio_high", new_real(v->ratio.high));
        }
        return o;
}

static json_object *json_result(const struct bench *b, unsigned pattern)
{
        static const char *const words[_STATS_MEASURE_MAX] = {"bytes_per_sec", "iops",   "mean_ns", "clat_mean_ns",
                                                              "p50_ns",        "p95_ns", "p99_ns"};
        json_object *figures = json_list(), *doubts = json_list();
        char text[PATTERN_TEXT_MAX];
        struct bench_verdict v;

        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                append_doubts(doubts, b, pattern, d);
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
        verdict_of_pattern(b, pattern, &v);
        return json_make({"pattern", new_int(pattern)}, {"text", new_string(pattern_text(b, pattern, text))},
                         {"figures", figures}, {"comparison", bench_json_verdict(&v, " on UAS")}, {"doubts", doubts});
}

static json_object *json_conditions(const struct bench_conditions *c)
{
        json_object *o = fields_object(conditions_fields, c);
        struct bench_queue queues[] = {c->queues[DRIVER_USB_STORAGE], c->queues[DRIVER_UAS]};

        queues[0].driver = DRIVER_USB_STORAGE;
        queues[1].driver = DRIVER_UAS;
        put_list(o, "drivers", queue_fields, sizeof(*queues), queues, ELEMENTSOF(queues));
        return o;
}

json_object *bench_json(const struct bench *b)
{
        json_object *o = json_new(), *results = json_list();
        char overall[2048];

        for (unsigned i = 0; i < b->n_patterns; i++)
                append(results, json_result(b, i));
        put(o, "finding", b->finding.found ? fields_object(finding_fields, &b->finding) : NULL);
        put_int(o, "version", BENCH_JSON_VERSION);
        put_string(o, "id", b->id);
        put_fields(o, bench_fields, b);
        put_string_or_null(o, "verdict", verdict_overall(b, overall, sizeof(overall)));
        put(o, "conditions", json_conditions(&b->conditions));
        put(o, "results", results);
        put_list(o, "patterns", pattern_fields, sizeof(*b->patterns), b->patterns, b->n_patterns);
        put_list(o, "runs", run_fields, sizeof(*b->runs), b->runs, b->n_runs);
        return o;
}

/* ---- the way back ---- */

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
        json_object *id = json_object_object_get(o, "id"), *finding = json_object_object_get(o, "finding");

        ret->finding.found = finding;
        if (!json_object_is_type(id, json_type_string) || !copy_string(ret->id, sizeof(ret->id), json_object_get_string(id)) ||
            strspn(ret->id, "0123456789abcdef-") < (size_t) json_object_get_string_len(id) || !get_fields(o, bench_fields, ret) ||
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

static int read_bench(json_object *o, struct bench *ret)
{
        json_object *version = json_object_object_get(o, "version");
        struct bench b = {};

        if (!json_object_is_type(version, json_type_int) || json_object_get_int64(version) <= 0)
                return -EBADMSG;
        if (json_object_get_int64(version) != BENCH_JSON_VERSION)
                return -EPROTONOSUPPORT;
        if (!get_bench(o, &b)) {
                bench_done(&b);
                return -EBADMSG;
        }
        *ret = b;
        return 0;
}

int bench_json_parse(const char *text, size_t size, struct bench *ret)
{
        json_tokener *tokener;
        json_object *o;
        size_t end;
        int r = -EBADMSG;

        if (size > BENCH_JSON_SIZE_MAX)
                return -EFBIG;
        tokener = need(json_tokener_new_ex(DEPTH_MAX));
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(tokener, text, (int) size);
        end = json_tokener_get_parse_end(tokener);
        if (json_object_is_type(o, json_type_object) && strspn(text + end, " \n") == size - end)
                r = read_bench(o, ret);
        json_object_put(o);
        json_tokener_free(tokener);
        return r;
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
