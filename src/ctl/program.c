/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>

#include "common/names.h"
#include "common/sentence.h"
#include "ctl/complete.h"
#include "ctl/context.h"
#include "ctl/host.h"
#include "ctl/hosts.h"
#include "ctl/output.h"
#include "ctl/verbs.h"

/* Executes uasctl-bench with all words except the verb. Returns only on failure, reported. */
static int bench_exec(const char *root, char **argv, int verb)
{
        const char *path = path_join(root ?: "", PROGRAM_BENCH);

        for (char **word = argv + verb; *word; word++)
                word[0] = word[1];
        (void) execv(path, argv);
        if (errno == ENOENT)
                return log_failure(
                        UASD_EXIT_TOOL_MISSING,
                        "uasctl bench is not installed. The package uasd-bench has it, the bundle does not.");
        return log_failure(UASD_EXIT_FAILED, "Cannot run %s: %s", path, strerror(errno));
}

/* "--complete WORDS..." for the shells. The options of bench are in uasctl-bench. */
static int complete_or_bench(const char *root, char **argv)
{
        char **bench = complete_line(root, argv + 2);

        if (bench)
                return bench_exec(root, argv, (int) (bench - argv));
        return UASD_EXIT_OK;
}

/* The language of messages. It is English if they are not UTF-8, because make_harmless() makes
 * other bytes visible. */
static void choose_language(const char *root)
{
        if (style_utf8()) {
                (void) bindtextdomain("uasd", path_join(root ?: "", LOCALEDIR));
                (void) textdomain("uasd");
        }
        /* Without a catalog libc searches the files again for each text, unless the locale is "C".
         */
        if (!*gettext("") && !*dgettext("libc", ""))
                (void) setlocale(LC_MESSAGES, "C");
}

int uasctl_run(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        const struct verb *verb;
        struct options o;
        int first, r;

        choose_language(root);
        if (argc > 2 && streq(argv[1], "--complete"))
                return complete_or_bench(root, argv);
        first = options_first_word(argc, argv);
        if (first + 1 < argc && streq(argv[first], VERB_HELP) &&
            streq(argv[first + 1], VERB_BENCH)) {
                argv[first] = argv[first + 1];
                argv[first + 1] = (char *) "--help";
        }
        if (first < argc && streq(argv[first], VERB_BENCH))
                return bench_exec(root, argv, first);
        first = options_parse(argc, argv, &o);
        if (first < 0)
                return UASD_EXIT_USAGE;
        if (o.given & OPTION_HELP)
                return verbs_help(argv[first]);
        if (o.given & OPTION_VERSION) {
                printf("uasctl %s\n", UASD_VERSION);
                return UASD_EXIT_OK;
        }
        log_open("uasctl", o.given & OPTION_QUIET ? LOG_ERR : LOG_INFO);
        progress_open(o.given & OPTION_QUIET);
        log_before_line(progress_clear);
        verb = verb_check(&o, argv + first);
        if (!verb)
                return UASD_EXIT_USAGE;
        if (streq(verb->name, VERB_HELP))
                return verbs_help(argv[first + (first < argc)]);
        /* A program reads the others, or a person with another language. */
        if (!o.json && verb->run != verb_report && verb->run != verb_metrics)
                sentences_have(SENTENCE_TRANSLATED);
        if (o.json_form && streq(o.json_form, JSON_IN_PARTS))
                sentences_have(SENTENCE_IN_PARTS);
        if (o.host && strchr(o.host, ',') && verb->run != verb_list)
                return log_failure(UASD_EXIT_USAGE,
                                   "With several machines only list works: uasctl -H %s list",
                                   o.host);
        if (o.host && strchr(o.host, ','))
                return hosts_list(&o, argv + first);
        if (o.host)
                return host_run(&o, argv + first);
        r = roots_open(&roots, root);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot open /sys: %s", strerror(-r));
        return verb_run(verb,
                        &(struct ctl){.options = &o,
                                      .client = {roots, !(o.given & OPTION_NO_ASK_PASSWORD)},
                                      .root = root},
                        argv + first + (first < argc));
}
