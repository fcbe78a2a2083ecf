/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/options.h"

#include <getopt.h>
#include <time.h>

#include "common/log.h"
#include "common/util.h"
#include "core/config.h"

enum {
        ARG_VERSION = 0x100,
        ARG_JSON,
        ARG_NO_LEGEND,
        ARG_NO_PAGER,
        ARG_NO_ASK_PASSWORD,
        ARG_DRY_RUN,
        ARG_FORCE,
        ARG_WAIT,
        ARG_TEXTFILE,
        ARG_KERNEL,
        ARG_TREE,
        ARG_SINCE,
        ARG_REDACT,
        ARG_HWDB,
        ARG_DISK,
        ARG_WHY,
        ARG_LIST,
};

static const struct option long_options[] = {
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, ARG_VERSION},
        {"json", no_argument, NULL, ARG_JSON},
        {"no-legend", no_argument, NULL, ARG_NO_LEGEND},
        {"no-pager", no_argument, NULL, ARG_NO_PAGER},
        {"no-ask-password", no_argument, NULL, ARG_NO_ASK_PASSWORD},
        {"quiet", no_argument, NULL, 'q'},
        {"host", required_argument, NULL, 'H'},
        {"output", required_argument, NULL, 'o'},
        {"dry-run", no_argument, NULL, ARG_DRY_RUN},
        {"force", no_argument, NULL, ARG_FORCE},
        {"tree", no_argument, NULL, ARG_TREE},
        {"wait", optional_argument, NULL, ARG_WAIT},
        {"redact", no_argument, NULL, ARG_REDACT},
        {"hwdb", required_argument, NULL, ARG_HWDB},
        {"disk", required_argument, NULL, ARG_DISK},
        {"why", required_argument, NULL, ARG_WHY},
        {"list", no_argument, NULL, ARG_LIST},
        {"since", required_argument, NULL, ARG_SINCE},
        {"textfile", required_argument, NULL, ARG_TEXTFILE},
        {"kernel", no_argument, NULL, ARG_KERNEL},
        {},
};

/* A local date with or without time, or how long ago. */
static int parse_since(const char *s, time_t now, uint64_t *ret_usec)
{
        static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};
        uint64_t ago, now_usec = (uint64_t) now * USEC_PER_SEC;

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = {.tm_isdst = -1};
                const char *end = strptime(s, formats[i], &tm);
                time_t t;

                if (!end || *end)
                        continue;
                t = mktime(&tm);
                if (t < 0)
                        return -EINVAL;
                *ret_usec = (uint64_t) t * USEC_PER_SEC;
                return 0;
        }
        if (parse_seconds(s, &ago) < 0)
                return -EINVAL;
        *ret_usec = ago < now_usec ? now_usec - ago : 0;
        return 0;
}

/* argv[0] is passed over. Returns as options_parse(). */
static int parse(int argc, char **argv, const char *letters, struct options *ret)
{
        struct options o = *ret;
        int c;

        optind = 0;
        while ((c = getopt_long(argc, argv, letters, long_options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        o.help = true;
                        break;
                case 'q':
                        o.quiet = true;
                        break;
                case 'H':
                        if (isempty(optarg)) {
                                log_error("--host= takes a machine: [USER@]HOST.");
                                return -EINVAL;
                        }
                        o.given |= OPTION_HOST;
                        o.host = optarg;
                        break;
                case 'o':
                        o.given |= OPTION_OUTPUT;
                        o.columns = optarg;
                        break;
                case ARG_VERSION:
                        o.version = true;
                        break;
                case ARG_JSON:
                        o.given |= OPTION_JSON;
                        o.json = true;
                        break;
                case ARG_NO_LEGEND:
                        o.legend = false;
                        break;
                case ARG_NO_PAGER:
                        o.pager = false;
                        break;
                case ARG_NO_ASK_PASSWORD:
                        o.ask_password = false;
                        break;
                case ARG_DRY_RUN:
                        o.given |= OPTION_DRY_RUN;
                        break;
                case ARG_FORCE:
                        o.given |= OPTION_FORCE;
                        break;
                case ARG_KERNEL:
                        o.given |= OPTION_KERNEL;
                        break;
                case ARG_TREE:
                        o.given |= OPTION_TREE;
                        break;
                case ARG_WAIT:
                        o.given |= OPTION_WAIT;
                        o.wait_usec = UINT64_MAX;
                        if (optarg && parse_seconds(optarg, &o.wait_usec) < 0) {
                                log_error("--wait=%s is no time.", optarg);
                                return -EINVAL;
                        }
                        break;
                case ARG_REDACT:
                        o.given |= OPTION_REDACT;
                        o.redact = true;
                        break;
                case ARG_HWDB:
                        o.given |= OPTION_HWDB;
                        o.hwdb = optarg;
                        break;
                case ARG_SINCE:
                        o.given |= OPTION_SINCE;
                        if (parse_since(optarg, time(NULL), &o.since_usec) < 0) {
                                log_error("--since=%s is no time: it takes 2026-11-20, 2026-11-20 15:45:07 or 2h.", optarg);
                                return -EINVAL;
                        }
                        break;
                case ARG_TEXTFILE:
                        o.given |= OPTION_TEXTFILE;
                        if (isempty(optarg)) {
                                log_error("--textfile= takes a directory.");
                                return -EINVAL;
                        }
                        o.textfile = optarg;
                        break;
                case ARG_DISK:
                        o.given |= OPTION_DISK;
                        o.disk = optarg;
                        break;
                case ARG_WHY:
                        o.given |= OPTION_WHY;
                        o.why = optarg;
                        break;
                case ARG_LIST:
                        o.given |= OPTION_LIST;
                        break;
                default: /* getopt has told */
                        return -EINVAL;
                }
        if (o.json && (o.given & (OPTION_OUTPUT | OPTION_TREE))) {
                log_error("--output and --tree are about the table; --json shows everything.");
                return -EINVAL;
        }
        if (o.redact && o.hwdb) {
                log_error("--redact and --hwdb exclude each other.");
                return -EINVAL;
        }
        *ret = o;
        return optind;
}

int options_first_word(int argc, char **argv)
{
        optind = 0;
        opterr = 0;
        while (getopt_long(argc, argv, "+hqo:H:", long_options, NULL) >= 0)
                ;
        opterr = 1;
        return optind;
}

int options_parse(int argc, char **argv, struct options *ret)
{
        struct options o = {.legend = true, .pager = true, .ask_password = true, .wait_usec = UINT64_MAX};
        int verb = options_first_word(argc, argv), k;
        char *name;

        if (argc > 0)
                argv[0] = (char *) "uasctl"; /* getopt says it, and it is to be as in all else that is said */
        if (verb >= argc || !streq(argv[verb], VERB_INHIBIT)) {
                k = parse(argc, argv, "hqo:H:", &o);
        } else {
                /* Before the verb, and between it and the command. */
                k = parse(verb, argv, "+hqo:H:", &o);
                name = argv[verb];
                argv[verb] = argv[0]; /* for what getopt says */
                if (k >= 0)
                        k = parse(argc - verb, argv + verb, "+hqo:H:", &o);
                if (k > 0)
                        argv[k += verb - 1] = name;
        }
        if (k >= 0)
                *ret = o;
        return k;
}
