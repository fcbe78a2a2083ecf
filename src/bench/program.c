/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/context.h"

#include "bench/tell/kept.h"
#include "common/log.h"
#include "common/util.h"
#include "term/program.h"
#include "term/progress.h"

static int run_verb(const struct bench_context *c, enum bench_verb verb, char *const *words)
{
        switch (verb) {
        case BENCH_RUN:
                return bench_measure(c, words[0]);
        case BENCH_LIST:
                return bench_history(c, words[0]);
        case BENCH_SHOW:
                return bench_show(c, words[0]);
        case BENCH_DIFF:
                return bench_diff(c, words[0], words[1]);
        case BENCH_REMOVE:
                return bench_remove(c, words[0]);
        case _BENCH_VERB_MAX:
                break;
        }
        return UASD_EXIT_USAGE;
}

static int run(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        struct bench_options o;
        enum bench_verb verb;
        const char *wrong;
        char room[BENCH_WRONG_MAX];
        char **words;
        bool word;
        int r = bench_options_parse(argc, argv, &o);

        if (r < 0)
                return UASD_EXIT_USAGE;
        if (o.help) {
                bench_options_help();
                return UASD_EXIT_OK;
        }
        if (o.version) {
                printf("uasctl %s\n", UASD_VERSION);
                return UASD_EXIT_OK;
        }
        if (o.host)
                return log_failure(UASD_EXIT_USAGE,
                                   "bench measures only the machine on which it runs. For another one: ssh %s uasctl bench ...",
                                   o.host);
        words = argv + r;
        verb = bench_options_verb(&o, words, &word);
        words += word;
        log_open("uasctl", o.quiet ? LOG_ERR : LOG_INFO);
        progress_open(o.quiet);
        log_before_line(progress_clear);
        wrong = bench_options_wrong(&o, verb, word, (unsigned) (argv + argc - words), room);
        if (wrong)
                return log_failure(UASD_EXIT_USAGE, "%s", wrong);
        r = roots_open(&roots, root);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read sysfs: %s", strerror(-r));
        return run_verb(&(struct bench_context){&o, {roots, NULL, !o.no_ask_password}}, verb, words);
}

int bench_program(int argc, char **argv, const char *root)
{
        return program_run(run, argc, argv, root);
}
