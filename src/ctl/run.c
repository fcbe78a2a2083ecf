/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

#include <limits.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "term/program.h"
#include "term/progress.h"

/* Executes uasctl-bench with all words except the verb. Returns only on failure, reported. */
static int bench_exec(const char *root, char **argv, int verb)
{
        char path[PATH_MAX];

        if ((size_t) snprintf(path, sizeof(path), "%s" PROGRAM_BENCH, root ?: "") >= sizeof(path))
                return UASD_EXIT_FAILED;
        for (char **word = argv + verb; *word; word++)
                word[0] = word[1];
        (void) execv(path, argv);
        if (errno == ENOENT) {
                log_error("uasctl bench is not installed: install the package uasd-bench.");
                return UASD_EXIT_TOOL_MISSING;
        }
        log_error("Cannot run %s: %s", path, strerror(errno));
        return UASD_EXIT_FAILED;
}

static int run(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        const struct verb *verb;
        struct options o;
        int first, r;

        first = options_first_word(argc, argv);
        if (first + 1 < argc && streq(argv[first], VERB_HELP) && streq(argv[first + 1], VERB_BENCH)) {
                argv[first] = argv[first + 1];
                argv[first + 1] = (char *) "--help";
        }
        if (first < argc && streq(argv[first], VERB_BENCH))
                return bench_exec(root, argv, first);
        first = options_parse(argc, argv, &o);
        if (first < 0)
                return UASD_EXIT_USAGE;
        if (o.help)
                return verbs_help(argv[first]);
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
        if (streq(verb->name, VERB_HELP))
                return verbs_help(argv[first + (first < argc)]);
        /* With --host nothing of this machine is read. */
        r = o.host ? 0 : roots_open(&roots, root);
        if (r < 0) {
                log_error("Cannot open /sys: %s", strerror(-r));
                return UASD_EXIT_FAILED;
        }
        return verb_run(verb, &(struct ctl){.options = &o, .client = {roots, o.host, o.ask_password}, .root = root},
                        argv + first + (first < argc));
}

int uasctl_run(int argc, char **argv, const char *root)
{
        return program_run(run, argc, argv, root);
}
