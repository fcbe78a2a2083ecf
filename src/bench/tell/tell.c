/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/csv.h"
#include "bench/tell/json.h"
#include "bench/tell/markdown.h"
#include "bench/tell/print.h"
#include "common/util.h"
#include "term/json.h"

static int tell_json(const struct bench *b, FILE *out)
{
        json_object *o = bench_json(b);
        _cleanup_free_ char *text = json_text(o);

        json_object_put(o);
        return fprintf(out, "%s\n", text) < 0 ? -EIO : 0;
}

int bench_tell(const struct bench *b, enum bench_format how, FILE *out, bool legend)
{
        switch (how) {
        case BENCH_TABLE:
                return bench_print(b, out, legend);
        case BENCH_JSON:
                return tell_json(b, out);
        case BENCH_CSV:
                return bench_csv(b, out, legend);
        case BENCH_MARKDOWN:
                return bench_markdown(b, out);
        case _BENCH_FORMAT_MAX:
                break;
        }
        return -EINVAL;
}
