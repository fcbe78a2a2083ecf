/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/program.h"

#include <getopt.h>

#include "bench/measure/profile.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "term/json.h"
#include "term/layout.h"
#include "term/terminal.h"

#define ROUNDS_MAX 60 /* the limit of the statistics (bench/tell/stats.h), less round 0 */
#define RUNTIME_MAX_SEC (24 * 3600)
#define SIZE_MIN (1 << 20)
#define ARG_FIRST 0x100

enum option_kind {
        OPTION_JSON,
        OPTION_FLAG,
        OPTION_MARKDOWN,
        OPTION_WORD,
        OPTION_DRIVER,
        OPTION_ROUNDS,
        OPTION_RUNTIME,
        OPTION_TIME,
        OPTION_SIZE,
        OPTION_VERB,
};

struct option_row {
        const char *name, *argument, *help;
        const char *takes; /* for an error message; for OPTION_VERB what the user has written */
        size_t at;         /* in struct bench_options, or the verb of OPTION_VERB */
        enum option_kind kind;
        char letter;
        bool measures; /* it concerns the measurement */
};

#define AT(m) offsetof(struct bench_options, m)

static const struct option_row rows[] = {
        {"help", "", "Show this help", NULL, AT(help), OPTION_FLAG, 'h'},
        {"version", "", "Show the version", NULL, AT(version), OPTION_FLAG},
        {"json", "[=short|pretty]", "Print JSON, on one line or on many", "short or pretty", AT(json), OPTION_JSON, 'j'},
        {"no-legend", "", "Print no headings", NULL, AT(no_legend), OPTION_FLAG},
        {"no-pager", "", "Do not show long text through a pager", NULL, AT(no_pager), OPTION_FLAG},
        {"quiet", "", "Print only errors", NULL, AT(quiet), OPTION_FLAG, 'q'},
        {"host", "=[USER@]HOST", "Refused: run uasctl bench there", "a machine: [USER@]HOST", AT(host), OPTION_WORD, 'H'},
        {"no-ask-password", "", "Do not ask for a password", NULL, AT(no_ask_password), OPTION_FLAG},
        {"dry-run", "", "Print what would be measured, and measure nothing", NULL, AT(dry_run), OPTION_FLAG},
        {"driver", "=DRIVER", "Measure only this driver: uas or usb-storage", DRIVER_NAME_UAS " or " DRIVER_NAME_BOT, AT(driver),
         OPTION_DRIVER, 0, true},
        {"profile", "=NAME", "cdm, gcp, matrix, engines, pi, or one in " BENCH_DIR_SHOWN, "the name of a profile", AT(profile),
         OPTION_WORD, 0, true},
        {"pattern", "=NAME", "One pattern of the profile", "a section of the profile", AT(pattern), OPTION_WORD, 0, true},
        {"sweep", "=AXIS[=LIST]", "Vary one figure: depth, jobs, region, runtime or ramp",
         "depth, jobs, region, runtime or ramp, and perhaps a list: depth=1,8,32", AT(sweep), OPTION_WORD, 0, true},
        {"rounds", "=N", "Number of rounds that count; 5", "a number from 1 to 60", AT(rounds), OPTION_ROUNDS, 'n', true},
        {"runtime", "=SECONDS", "Duration of each run of fio", "whole seconds, from 1 s to 24 h", AT(runtime_sec), OPTION_RUNTIME,
         0, true},
        {"pause", "=SECONDS", "Pause between two runs; 5", "a time", AT(pause_usec), OPTION_TIME, 0, true},
        {"size", "=SIZE", "Maximum size of the region", "a size of 1M or more: 512M, 4G", AT(size), OPTION_SIZE, 0, true},
        {"file", "=PATH", "Measure a file, or with --write a scratch file in a directory", "a file or a directory", AT(file),
         OPTION_WORD, 0, true},
        {"write", "", "Write as well, to a scratch file", NULL, AT(write), OPTION_FLAG, 0, true},
        {"remount", "", "With --write: compare both drivers, and unmount the file system for each switch", NULL, AT(remount),
         OPTION_FLAG, 0, true},
        {"destroy-data", "", "Write to the raw disk; its serial number has to be typed", NULL, AT(destroy_data), OPTION_FLAG, 0,
         true},
        {"clients", "=HOST,...", "Measure from several machines that run fio --server", "hosts that run fio --server",
         AT(clients), OPTION_WORD, 0, true},
        {"csv", "", "Print a line for each run", NULL, AT(csv), OPTION_FLAG},
        {"markdown", "[=full]", "Print a table for a forum, or one with all columns", "full", AT(markdown), OPTION_MARKDOWN},
        {"chart", "=FILE", "Draw the result, as .svg or .png", "a file: result.svg", AT(chart), OPTION_WORD},
        {"history", "", "As the verb list", "--history", BENCH_LIST, OPTION_VERB},
        {"diff", "", "As the verb diff", "--diff", BENCH_DIFF, OPTION_VERB},
        {"show", "", "As the verb show", "--show", BENCH_SHOW, OPTION_VERB},
        {"remove", "", "As the verb remove", "--remove", BENCH_REMOVE, OPTION_VERB},
};

static const struct {
        const char *name, *arguments, *help;
        int (*run)(const struct bench_context *c, char *const *words);
} verbs[_BENCH_VERB_MAX] = {
        [BENCH_RUN] = {"run", "DISK", "Measure a disk, and compare its drivers (also without a verb)", bench_measure},
        [BENCH_LIST] = {"list", "[DISK]", "List the stored results", bench_history},
        [BENCH_SHOW] = {"show", "ID", "Print one of them again, as a table, --csv, --markdown, --json, --chart", bench_show},
        [BENCH_DIFF] = {"diff", "A B", "Compare two of them", bench_diff},
        [BENCH_REMOVE] = {"remove", "ID", "Delete one of them", bench_remove},
};

static void print_help(void)
{
        char left[64];

        fold_paragraph("uasctl bench [OPTIONS...] [VERB] [ARGUMENTS...]");
        putchar('\n');
        fold_paragraph("Measure USB disks under usb-storage and uas, and keep the results.");
        printf("\nVerbs:\n");
        for (size_t i = 0; i < _BENCH_VERB_MAX; i++) {
                (void) snprintf(left, sizeof(left), "%s %s", verbs[i].name, verbs[i].arguments);
                fold_row(left, verbs[i].help);
        }
        printf("\nOptions:\n");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                (void) snprintf(left, sizeof(left), rows[i].letter ? "-%c, --%s%s" : "%c   --%s%s", rows[i].letter ?: ' ',
                                rows[i].name, rows[i].argument);
                fold_row(left, rows[i].help);
        }
        printf("\n");
        fold_paragraph("See uasctl(1) for the exit status, and uasd-bench(7) for what the results say.");
}

static int set_value(const struct option_row *row, const char *argument, struct bench_options *o)
{
        void *at = (char *) o + row->at;
        unsigned long long n;
        uint64_t usec;
        int driver;

        switch (row->kind) {
        case OPTION_FLAG:
                *(bool *) at = true;
                return 0;
        case OPTION_JSON:
                *(bool *) at = true;
                return json_open(argument);
        case OPTION_MARKDOWN:
                *(bool *) at = true;
                o->markdown_full = argument;
                return !argument || streq(argument, "full") ? 0 : -EINVAL;
        case OPTION_WORD:
                *(const char **) at = argument;
                return isempty(argument) ? -EINVAL : 0;
        case OPTION_DRIVER:
                driver = driver_from_string(argument);
                *(enum driver *) at = driver == DRIVER_UAS ? DRIVER_UAS : DRIVER_USB_STORAGE;
                return driver == DRIVER_UAS || driver == DRIVER_USB_STORAGE ? 0 : -EINVAL;
        case OPTION_ROUNDS:
                if (parse_uint(argument, 10, ROUNDS_MAX, &n) < 0 || n == 0)
                        return -EINVAL;
                *(unsigned *) at = (unsigned) n;
                return 0;
        case OPTION_RUNTIME:
                if (parse_seconds(argument, &usec) < 0 || usec % USEC_PER_SEC > 0 || usec / USEC_PER_SEC > RUNTIME_MAX_SEC)
                        return -EINVAL;
                *(unsigned *) at = (unsigned) (usec / USEC_PER_SEC);
                return usec > 0 ? 0 : -EINVAL;
        case OPTION_TIME:
                return parse_seconds(argument, at);
        case OPTION_SIZE:
                return profile_size(argument, at) < 0 || *(uint64_t *) at < SIZE_MIN ? -EINVAL : 0;
        case OPTION_VERB:
                o->several = o->several || (o->said && o->verb != row->at);
                o->verb = (enum bench_verb) row->at;
                o->said = row->takes;
                return 0;
        }
        return -EINVAL;
}

int bench_options_parse(int argc, char **argv, struct bench_options *ret)
{
        struct bench_options o = {.profile = "cdm", .rounds = 5, .pause_usec = 5 * USEC_PER_SEC};
        struct option longs[ELEMENTSOF(rows) + 1] = {};
        int c;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *argument = rows[i].argument;
                int takes = !*argument ? no_argument : *argument == '[' ? optional_argument : required_argument;

                longs[i] = (struct option){rows[i].name, takes, NULL, rows[i].letter ?: ARG_FIRST + (int) i};
        }
        optind = 0;
        if (argc > 0)
                argv[0] = (char *) "uasctl"; /* getopt prints it */
        while ((c = getopt_long(argc, argv, "hjqn:H:", longs, NULL)) >= 0) {
                size_t i = 0;

                while (i < ELEMENTSOF(rows) && longs[i].val != c)
                        i++;
                if (i == ELEMENTSOF(rows)) /* getopt has reported it */
                        return log_failure(-EINVAL, "See uasctl bench --help.");
                if (set_value(&rows[i], optarg, &o) < 0)
                        return log_failure(-EINVAL, "--%s=%s: it takes %s.", rows[i].name, optarg, rows[i].takes);
                if (rows[i].measures)
                        o.measures = rows[i].name;
        }
        for (size_t i = 0; i < _BENCH_VERB_MAX && optind < argc && !o.said; i++)
                if (streq(verbs[i].name, argv[optind])) {
                        o.verb = (enum bench_verb) i;
                        o.said = argv[optind++];
                }
        *ret = o;
        return optind;
}

/* A contradiction of a verb about stored results. Its sentence begins with the verb if it is a clause. */
static const char *wrong_with_kept(const struct bench_options *o, unsigned n_words)
{
        enum bench_verb verb = o->verb;

        if (o->measures || o->dry_run)
                return "measures nothing, so it takes no options of a measurement.";
        if (verb != BENCH_SHOW && (o->csv || o->markdown || o->chart))
                return "--csv, --markdown and --chart need one result: uasctl bench show ID.";
        if (verb == BENCH_DIFF && n_words != 2)
                return "takes two results. 'uasctl bench list' lists them.";
        if ((verb == BENCH_SHOW || verb == BENCH_REMOVE) && n_words != 1)
                return "takes the id of one result. 'uasctl bench list' lists them.";
        if (verb == BENCH_LIST && n_words > 1)
                return "takes one disk at most.";
        return verb == BENCH_REMOVE && o->json ? "prints nothing, so it takes no --json." : NULL;
}

const char *bench_options_wrong(const struct bench_options *o, unsigned n_words, char ret[static BENCH_WRONG_MAX])
{
        if (o->json + o->csv + o->markdown > 1)
                return "Only one of --json, --csv and --markdown can be printed at a time.";
        if (o->several)
                return "Only one of --history, --diff, --show and --remove can be used at a time.";
        if (o->verb != BENCH_RUN) {
                const char *wrong = wrong_with_kept(o, n_words);

                if (!wrong || *wrong == '-')
                        return wrong;
                (void) snprintf(ret, BENCH_WRONG_MAX, "'%s' %s", o->said, wrong);
                return ret;
        }
        if (o->dry_run && (o->json || o->csv || o->markdown || o->chart))
                return "--dry-run measures nothing. It takes no --json, --csv, --markdown or --chart.";
        if (n_words > 1)
                return "One disk at a time.";
        if (n_words == 0 && !o->file)
                return "A disk or a file is missing: uasctl bench DISK, or uasctl bench --file=PATH.";
        if (o->write && !o->file)
                return "--write needs --file=DIRECTORY, for its scratch file.";
        if (o->remount && (!o->write || o->clients))
                return "--remount needs --file=DIRECTORY and --write, and takes no --clients.";
        if (o->file && o->destroy_data)
                return "--destroy-data writes to the raw disk. Use --write with --file.";
        if (o->file && o->driver != DRIVER_NONE && !o->remount)
                return "A mounted disk stays on its driver: --file takes --driver only with --remount.";
        if (o->clients && !o->file)
                return "--clients needs --file=PATH, the path on those machines.";
        if (o->sweep && o->runtime_sec && startswith(o->sweep, "runtime"))
                return "--sweep=runtime and --runtime exclude each other.";
        if (o->clients && o->sweep)
                return "--clients and --sweep exclude each other, because each varies one figure.";
        return NULL;
}

int bench_program(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        struct bench_options o;
        char room[BENCH_WRONG_MAX];
        const char *wrong;
        int r = bench_options_parse(argc, argv, &o), k;

        if (r < 0)
                return UASD_EXIT_USAGE;
        if (o.help) {
                print_help();
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
        log_open("uasctl", o.quiet ? LOG_ERR : LOG_INFO);
        progress_open(o.quiet);
        log_before_line(progress_clear);
        wrong = bench_options_wrong(&o, (unsigned) (argc - r), room);
        if (wrong)
                return log_failure(UASD_EXIT_USAGE, "%s", wrong);
        k = roots_open(&roots, root);
        if (k < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read sysfs: %s", strerror(-k));
        return verbs[o.verb].run(&(struct bench_context){&o, {roots, NULL, !o.no_ask_password}}, argv + r);
}
