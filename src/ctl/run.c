/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/run.h"

#include <locale.h>

#include "common/log.h"
#include "common/util.h"
#include "ctl/verb-bench.h"
#include "ctl/verbs.h"
#include "term/pager.h"
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
        int code;

        /* Not LC_ALL: each category is a file to be read, and numbers are as sentences and CSV need them. */
        (void) setlocale(LC_CTYPE, "");
        (void) setlocale(LC_MESSAGES, "");
        log_open("uasctl", LOG_INFO);
        code = run(argc, argv, root);
        progress_clear();
        /* A full disk behind stdout must not pass for success; who leaves the pager early has seen enough. */
        if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_close()) {
                log_error("Cannot write to the standard output: %s", strerror(errno));
                return code == UASD_EXIT_OK ? UASD_EXIT_FAILED : code;
        }
        (void) pager_close();
        return code;
}
