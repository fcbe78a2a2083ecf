/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/verdict.h"

#include "bench/tell/units.h"
#include "common/util.h"

#define TIMES_FROM 1.5 /* below it, a percentage is clearer */

static const char *const words[_BENCH_WORD_MAX] = {
        [BENCH_SAME] = "none",     [BENCH_FASTER] = "faster", [BENCH_SLOWER] = "slower",
        [BENCH_ROUNDS] = "rounds", [BENCH_FAILED] = "failed", [BENCH_SINGLE] = "single",
};

const char *bench_word_to_string(enum bench_word w)
{
        return words[w];
}

size_t verdict_rounds_needed(void)
{
        size_t n = 1;

        while (stats_least_p(n, n) > VERDICT_LEVEL)
                n++;
        return n;
}

void verdict_of(const struct samples *a, const struct samples *b, double practical, struct bench_verdict *ret)
{
        double wander;

        *ret = (struct bench_verdict){.word = BENCH_SAME, .p = 1, .rounds = {a->n, b->n}};
        if (stats_least_p(a->n, b->n) > VERDICT_LEVEL) {
                ret->word = BENCH_ROUNDS;
                return;
        }
        ret->p = stats_rank_p(a, b);
        ret->has_ratio = stats_ratio(a, b, VERDICT_LEVEL, &ret->ratio);
        if (!ret->has_ratio || ret->p > VERDICT_LEVEL)
                return;
        wander = stats_wander(a, b); /* all values are above 0, since there is a ratio */
        practical = wander > practical ? wander : practical;
        if (ret->ratio.low > practical)
                ret->word = BENCH_FASTER;
        else if (ret->ratio.high < 1 / practical)
                ret->word = BENCH_SLOWER;
}

static bool was_run(const struct bench *b, unsigned pattern, enum driver d)
{
        for (size_t i = 0; i < b->n_runs; i++)
                if (b->runs[i].pattern == pattern && b->runs[i].driver == d)
                        return true;
        return false;
}

void verdict_of_pattern(const struct bench *b, unsigned pattern, struct bench_verdict *ret)
{
        enum stats_measure m = stats_figure(&b->patterns[pattern]);
        double practical = VERDICT_PRACTICAL;
        struct samples bot, uas;

        if (b->single) {
                *ret = (struct bench_verdict){.word = BENCH_SINGLE, .p = 1};
                return;
        }
        for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                double halves = stats_halves(b, pattern, d);

                practical = halves > practical ? halves : practical;
        }
        stats_samples(b, pattern, DRIVER_USB_STORAGE, m, &bot);
        stats_samples(b, pattern, DRIVER_UAS, m, &uas);
        verdict_of(&bot, &uas, practical, ret);
        if (ret->word != BENCH_ROUNDS)
                return;
        if (b->finding.found)
                ret->word = BENCH_FAILED;
        else if (!b->interrupted && (!was_run(b, pattern, DRIVER_USB_STORAGE) || !was_run(b, pattern, DRIVER_UAS)))
                ret->word = BENCH_SINGLE;
}

static void add_axis(const struct bench *b, const struct bench_pattern *p, char ret[static PATTERN_TEXT_MAX])
{
        char size[UNIT_TEXT_MAX];

        switch (b->axis) {
        case BENCH_AXIS_REGION:
                text_add(ret, PATTERN_TEXT_MAX, ", region %s", bytes_text((uint64_t) p->axis, size));
                break;
        case BENCH_AXIS_CLIENTS:
                text_add(ret, PATTERN_TEXT_MAX, ", %.0f machine%s", p->axis, p->axis > 1 ? "s" : "");
                break;
        case BENCH_AXIS_RUNTIME:
                text_add(ret, PATTERN_TEXT_MAX, ", %u s", p->runtime_sec);
                break;
        case BENCH_AXIS_RAMP:
                text_add(ret, PATTERN_TEXT_MAX, ", after %u s", p->ramp_sec);
                break;
        case BENCH_AXIS_NONE:
        case BENCH_AXIS_DEPTH: /* always part of the text */
        case BENCH_AXIS_JOBS:
        case _BENCH_AXIS_MAX:
                break;
        }
}

char *pattern_text(const struct bench *b, unsigned pattern, char ret[static PATTERN_TEXT_MAX])
{
        const struct bench_pattern *p = &b->patterns[pattern];
        char block[UNIT_TEXT_MAX];

        ret[0] = '\0';
        text_add(ret, PATTERN_TEXT_MAX, "%s%s %s", p->direct ? "" : "buffered ", p->random ? "random" : "sequential",
                 p->read_percent >= 100 ? "read"
                 : p->read_percent == 0 ? "write"
                                        : "read and write");
        if (p->read_percent > 0 && p->read_percent < 100 && p->read_percent != 50)
                text_add(ret, PATTERN_TEXT_MAX, " (%u %% reads)", p->read_percent);
        text_add(ret, PATTERN_TEXT_MAX, ", %s", bytes_text(p->block_size, block));
        if (!p->sync_engine)
                text_add(ret, PATTERN_TEXT_MAX, ", depth %u", p->iodepth);
        if (p->numjobs > 1)
                text_add(ret, PATTERN_TEXT_MAX, ", %u jobs", p->numjobs);
        else if (p->sync_engine)
                text_add(ret, PATTERN_TEXT_MAX, ", one at a time");
        add_axis(b, p, ret);
        return ret;
}

static double times(const struct bench_verdict *v)
{
        return v->word == BENCH_SLOWER ? 1 / v->ratio.middle : v->ratio.middle;
}

char *verdict_text(const struct bench_verdict *v, const char *on, char ret[static VERDICT_TEXT_MAX])
{
        const char *how = v->word == BENCH_SLOWER ? "slower" : "faster";
        double share = v->word == BENCH_SLOWER ? 1 - v->ratio.middle : v->ratio.middle - 1;

        ret[0] = '\0';
        switch (v->word) {
        case BENCH_FASTER:
        case BENCH_SLOWER:
                if (times(v) >= TIMES_FROM)
                        (void) snprintf(ret, VERDICT_TEXT_MAX, "%.*f times %s%s", times(v) < 10 ? 1 : 0, times(v), how, on);
                else
                        (void) snprintf(ret, VERDICT_TEXT_MAX, "%.0f %% %s%s", 100 * share, how, on);
                break;
        case BENCH_SAME:
                (void) copy_string(ret, VERDICT_TEXT_MAX, "no difference seen");
                break;
        case BENCH_ROUNDS:
                (void) snprintf(
                        ret, VERDICT_TEXT_MAX,
                        "too few rounds for a verdict (%zu and %zu; it needs %zu of each, and the first one does not count)",
                        v->rounds[0], v->rounds[1], verdict_rounds_needed());
                break;
        case BENCH_FAILED:
                (void) copy_string(ret, VERDICT_TEXT_MAX, "ended before its time");
                break;
        case BENCH_SINGLE:
        case _BENCH_WORD_MAX:
                break;
        }
        return ret;
}

char *verdict_short(const struct bench_verdict *v, char ret[static VERDICT_TEXT_MAX])
{
        static const char *const texts[_BENCH_WORD_MAX] = {
                [BENCH_SAME] = "no difference",    [BENCH_FASTER] = "faster", [BENCH_SLOWER] = "slower",
                [BENCH_ROUNDS] = "too few rounds", [BENCH_FAILED] = "failed", [BENCH_SINGLE] = "",
        };
        double share = v->word == BENCH_SLOWER ? 1 - v->ratio.middle : v->ratio.middle - 1;

        if (v->word != BENCH_FASTER && v->word != BENCH_SLOWER)
                (void) copy_string(ret, VERDICT_TEXT_MAX, texts[v->word]);
        else if (times(v) >= TIMES_FROM)
                (void) snprintf(ret, VERDICT_TEXT_MAX, "%.*fx %s", times(v) < 10 ? 1 : 0, times(v), texts[v->word]);
        else
                (void) snprintf(ret, VERDICT_TEXT_MAX, "%.0f%% %s", 100 * share, texts[v->word]);
        return ret;
}
