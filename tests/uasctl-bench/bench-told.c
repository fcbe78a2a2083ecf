/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints a result, for the tests of the output.
 *
 *     bench-told SAMPLE table|json|csv|markdown|markdown-full
 *     bench-told SAMPLE chart FILE
 *     bench-told SAMPLE keep ROOT [ID [STARTED]]
 *     bench-told history ROOT [DISK]
 *     bench-told diff ROOT A B
 *
 * $NO_LEGEND and $JSON are the options of that name; $TOUCHED is the file that the sample "hostile" would touch.
 */
#include "samples.h"

#include <locale.h>

#include "bench/tell/tell.h"
#include "common/log.h"

#define SET(member, to) (void) copy_string(member, sizeof(member), to)

/* A device whose names contain code. */
static struct bench sample_hostile(void)
{
        struct bench b = sample_comparison();
        char command[512];

        (void) snprintf(command, sizeof(command), "../x '; system(\"touch %s\") #", getenv("TOUCHED") ?: "/nonexistent/x");
        SET(b.conditions.model, "=cmd|' /C calc'!A0 \033[31m`x` | <b>@all</b>, \"q\"\n# h");
        SET(b.conditions.bridge, command);
        SET(b.patterns[0].name, "a'b\"c\\d|e`f<g>&\033]0;h\a");
        SET(b.profile, command); /* the profile stands in a chart's title */
        return b;
}

/* Random reads at depth 1 to 32: one driver gets faster, the other does not. */
static struct bench sample_sweep(void)
{
        struct bench b = sample_bench();

        b.axis = BENCH_AXIS_DEPTH;
        for (unsigned depth = 1; depth <= 32; depth *= 2) {
                char name[32];
                unsigned p;

                (void) snprintf(name, sizeof(name), "RND4K depth=%u", depth);
                p = sample_pattern(&b, name, "randread", 4 * KiB, depth);
                b.patterns[p].axis = depth;
                for (unsigned i = 0; i < 6; i++) {
                        (void) sample_run(&b, p, DRIVER_USB_STORAGE, (120 + i) * 4096);
                        (void) sample_run(&b, p, DRIVER_UAS, (120 + 3 * i + 14 * depth) * 4096);
                }
        }
        return b;
}

/* Like the profile of that name: rates grow with the jobs, up to the limit of the disk. */
static struct bench sample_matrix(void)
{
        static const unsigned jobs[] = {1, 4, 16, 64};
        struct bench b = sample_bench();

        SET(b.profile, "matrix");
        for (size_t i = 0; i < 2 * ELEMENTSOF(jobs); i++) {
                bool random = i >= ELEMENTSOF(jobs);
                unsigned n = jobs[i % ELEMENTSOF(jobs)], p;
                char name[32];

                (void) snprintf(name, sizeof(name), "%s-read-%u", random ? "rand" : "seq", n);
                p = sample_pattern(&b, name, random ? "randread" : "read", random ? 4 * KiB : 128 * KiB, 1);
                b.patterns[p].numjobs = n;
                b.patterns[p].sync_engine = true;
                SET(b.patterns[p].engine, "psync");
                for (unsigned round = 0; round < 4; round++) {
                        double rate = random ? 4096 * (100 + n) : (140 + n) * MB;

                        (void) sample_run(&b, p, DRIVER_USB_STORAGE, rate * (1 + round / 100.0));
                        (void) sample_run(&b, p, DRIVER_UAS, 2 * rate * (1 + round / 100.0));
                }
        }
        return b;
}

static struct bench sample_single(void)
{
        struct bench b = sample_comparison();
        size_t n = 0;

        for (size_t i = 0; i < b.n_runs; i++)
                if (b.runs[i].driver == DRIVER_UAS)
                        b.runs[n++] = b.runs[i];
        b.n_runs = n;
        return b;
}

static struct bench sample_doubted(void)
{
        struct bench b = sample_comparison();

        b.conditions.speed_mbps = 480;
        for (size_t i = 0; i < b.n_runs; i++)
                if (b.runs[i].pattern == 2)
                        b.runs[i].depth_share = 0.4;
        return b;
}

/* One round of each driver that counts. */
static struct bench sample_hasty(void)
{
        struct bench b = sample_comparison();
        size_t n = 0;

        for (size_t i = 0; i < b.n_runs; i++)
                if (b.runs[i].round <= 1)
                        b.runs[n++] = b.runs[i];
        b.n_runs = n;
        return b;
}

static struct bench sample_none(void)
{
        return (struct bench){};
}

static const struct {
        const char *name;
        struct bench (*make)(void);
} samples[] = {
        {"comparison", sample_comparison}, {"full", sample_full},       {"hostile", sample_hostile}, {"sweep", sample_sweep},
        {"single", sample_single},         {"doubted", sample_doubted}, {"none", sample_none},       {"matrix", sample_matrix},
        {"hasty", sample_hasty},
};

static int keep(struct bench *b, const char *root, char **rest)
{
        struct roots r = ROOTS_NULL;
        int k;

        if (rest[0])
                (void) copy_string(b->id, sizeof(b->id), rest[0]);
        if (rest[0] && rest[1])
                b->started_usec = strtoull(rest[1], NULL, 10) * USEC_PER_SEC;
        k = roots_open(&r, root);
        k = k < 0 ? k : bench_keep(&r, b);
        roots_close(&r);
        return k < 0;
}

static int tell(struct bench *b, char **argv)
{
        static const char *const formats[] = {"table", "json", "csv", "markdown", "markdown-full"};

        for (size_t i = 0; i < ELEMENTSOF(formats); i++)
                if (streq(argv[2], formats[i]))
                        return bench_tell(b, (enum bench_format) i, stdout, !getenv("NO_LEGEND")) < 0;
        if (argv[3] && streq(argv[2], "keep"))
                return keep(b, argv[3], argv + 4);
        return argv[3] && streq(argv[2], "chart") ? bench_chart_possible(argv[3]) ?: bench_chart(b, argv[3]) : 2;
}

static int kept(char **argv)
{
        const struct bench_options o = {.no_legend = getenv("NO_LEGEND"), .json = getenv("JSON"), .no_pager = true};
        struct bench_context c = {.options = &o, .client = {.roots = ROOTS_NULL}};
        int code = 2;

        if (roots_open(&c.client.roots, argv[2]) < 0)
                return 2;
        if (streq(argv[1], "history"))
                code = bench_history(&c, argv + 3);
        else if (argv[3] && argv[4])
                code = bench_diff(&c, argv + 3);
        roots_close(&c.client.roots);
        return code;
}

int main(int argc, char **argv)
{
        (void) setlocale(LC_ALL, "");
        log_open("bench-told", LOG_INFO);
        if (argc >= 3 && (streq(argv[1], "history") || streq(argv[1], "diff")))
                return kept(argv);
        for (size_t i = 0; argc >= 3 && i < ELEMENTSOF(samples); i++)
                if (streq(samples[i].name, argv[1])) {
                        struct bench b = samples[i].make();
                        int code = tell(&b, argv);

                        bench_done(&b);
                        return code;
                }
        return 2;
}
