/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/run.h"

#include "common/log.h"
#include "common/util.h"
#include "ctl/verb-bench.h"
#include "ctl/verbs.h"
#include "term/program.h"
#include "term/progress.h"

static int run(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        const struct verb *verb;
        struct options o;
        int first, r;

        first = options_first_word(argc, argv);
        if (first < argc && streq(argv[first], VERB_BENCH))
                return bench_exec(root, argv, first);
        first = options_parse(argc, argv, &o);
        if (first < 0)
                return UASD_EXIT_USAGE;
        if (o.help) {
                verbs_help();
                return UASD_EXIT_OK;
        }
        if (o.version) {
                printf("uasctl %s\n", UASD_VERSION);
                return UASD_EXIT_OK;
        }
        log_open("uasctl", o.quiet ? LOG_ERR : LOG_INFO);
        progress_open(o.quiet);
        log_before_line(progress_clear);
        verb = verb_check(&o, argv + first);
        if (!verb)
                return UASD_EXIT_USAGE;
        /* Nothing of this machine is looked at when another one is meant. */
        r = o.host ? 0 : roots_open(&roots, root);
        if (r < 0) {
                log_error("There is no sysfs to look at: %s", strerror(-r));
                return UASD_EXIT_FAILED;
        }
        return verb->run(&(struct ctl){&o, {roots, o.host, o.ask_password}, root}, argv + first + (first < argc));
}

int uasctl_run(int argc, char **argv, const char *root)
{
        return program_run(run, argc, argv, root);
}
