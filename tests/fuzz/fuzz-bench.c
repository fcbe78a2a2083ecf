/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kept results of uasctl bench. For every input: a result that was read can be written and read again with equal content, and
 * printed in every format. */
#include <float.h>

#include "bench/tell/tell.h"
#include "bench/tell/verdict.h"
#include "fuzz.h"
#include "term/json.h"

static char *text_of(const struct bench *b)
{
        json_object *o = bench_json(b);
        char *text;

        CHECK(o);
        text = json_text(o);
        CHECK(text);
        json_object_put(o);
        return text;
}

static void check_figures(const struct bench *b)
{
        struct doubts doubts;

        for (unsigned p = 0; p < b->n_patterns; p++) {
                struct bench_verdict v;

                v = verdict_of_pattern(b, p);
                CHECK(v.p >= 0 && v.p <= 1 + FLT_EPSILON);
                CHECK(!v.has_ratio || (v.ratio.low <= v.ratio.middle && v.ratio.middle <= v.ratio.high && v.ratio.low > 0));
                for (enum driver d = 0; d < _DRIVER_MAX; d++)
                        (void) doubts_of(b, p, d, &doubts);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_(bench_done) struct bench b = {}, again = {};
        _cleanup_free_ char *text = fuzz_text(data, size), *first = NULL, *second = NULL, *out = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t n = 0;

        if (bench_json_parse(text, size, &b) < 0)
                return 0;
        first = text_of(&b);
        CHECK(bench_json_parse(first, strlen(first), &again) == 0);
        second = text_of(&again);
        CHECK(streq(first, second));
        check_figures(&b);

        f = open_memstream(&out, &n);
        CHECK(f);
        for (enum bench_format how = 0; how < _BENCH_FORMAT_MAX; how++)
                CHECK(bench_tell(&b, how, f, true) == 0);
        (void) chart_script(&b, true, f);
        CHECK(fflush(f) == 0);
        for (size_t i = 0; i < n; i++)
                CHECK((unsigned char) out[i] >= ' ' || strchr("\r\n", out[i]));
        return 0;
}
