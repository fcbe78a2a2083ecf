/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/options.h"

#include <getopt.h>
#include <limits.h>
#include <time.h>

#include "core/config.h"
#include "ctl/verbs.h"

#define FOLLOW_LINES 10 /* as journalctl -f */
#define LETTERS "fhjn:qo:H:"

#define AT(field) offsetof(struct options, field)
const struct ctl_option option_rows[] = {
        /* clang-format off */
        {OPTION_OUTPUT, 'o', "output", "=[+]COLUMN,...", AT(columns), N_("Show these columns; with +: these as well")},
        {OPTION_TREE, 0, "tree", NULL, 0, N_("Show buses and hubs as well")},
        {OPTION_ALL, 0, "all", NULL, 0, N_("Print everything: also rows that do not apply, and details")},
        {OPTION_SINCE, 0, "since", "=TIME", AT(since), N_("Show events from then on: 2026-11-20, 10:00, yesterday, -2h")},
        {OPTION_LINES, 'n', "lines", "=N", AT(lines), N_("Show only the last N events")},
        {OPTION_FOLLOW, 'f', "follow", NULL, 0, N_("Show the last events, and further ones as they happen")},
        {OPTION_DRY_RUN, 0, "dry-run", NULL, 0, N_("Print what would happen, and do nothing")},
        {OPTION_FORCE, 0, "force", NULL, 0, N_("Do it even where kernel or database forbid uas, or the disk offers no TRIM")},
        {OPTION_WAIT, 0, "wait", "[=SECONDS]", AT(wait), N_("Wait for the end, at most that long")},
        {OPTION_KERNEL, 0, "kernel", NULL, 0, N_("Print lines for boot loader and modprobe.d")},
        {OPTION_WRITE, 0, "write", NULL, 0, N_("With --kernel: change the file that this machine boots with")},
        {OPTION_LOAD, 0, "load", NULL, 0, N_("Load the module, if it fits")},
        {OPTION_DISK, 0, "disk", "=DISK", AT(disk), N_("Inhibit only switches of this disk")},
        {OPTION_WHY, 0, "why", "=TEXT", AT(why), N_("The reason, for other users to read")},
        {OPTION_LIST, 0, "list", NULL, 0, N_("Show the inhibitors")},
        {OPTION_TEXTFILE, 0, "textfile", "=DIR", AT(textfile), N_("Write DIR/uasd.prom, for node_exporter")},
        {OPTION_REDACT, 0, "redact", NULL, 0, N_("Leave out private data, such as serial numbers and mount points")},
        {OPTION_HWDB, 0, "hwdb", "=DISK", AT(hwdb), N_("Print the results of this disk as an entry for the bridge database")},
        {OPTION_JSON, 'j', "json", "[=short|pretty]", AT(json_form), N_("Print JSON, on one line or on many")},
        {OPTION_HOST, 'H', "host", "=[USER@]HOST,...", AT(host), N_("Run uasctl on another machine, by ssh; list: on several")},
        {OPTION_NO_LEGEND, 0, "no-legend", NULL, 0, N_("Print no headings")},
        {OPTION_NO_PAGER, 0, "no-pager", NULL, 0, N_("Do not show long text through a pager")},
        {OPTION_NO_ASK_PASSWORD, 0, "no-ask-password", NULL, 0, N_("Do not ask for a password")},
        {OPTION_QUIET, 'q', "quiet", NULL, 0, N_("Print only errors")},
        {OPTION_HELP, 'h', "help", NULL, 0, N_("Show this help")},
        {OPTION_VERSION, 0, "version", NULL, 0, N_("Show the version")},
        /* clang-format on */
};
const size_t n_option_rows = ELEMENTSOF(option_rows);

/* getopt_long() with the table. Returns the index of the row + FIRST for long options. */
#define FIRST 0x100

static int next_option(int argc, char **argv, const char *letters)
{
        struct option options[ELEMENTSOF(option_rows) + 1] = {};

        for (size_t i = 0; i < n_option_rows; i++) {
                const char *argument = option_rows[i].argument;
                int takes = no_argument;

                if (argument)
                        takes = *argument == '[' ? optional_argument : required_argument;
                options[i] = (struct option){option_rows[i].name, takes, NULL, FIRST + (int) i};
        }
        return getopt_long(argc, argv, letters, options, NULL);
}

/* NULL: getopt has reported the error. */
static const struct ctl_option *row_of(int c)
{
        for (size_t i = 0; i < n_option_rows; i++)
                if (c == FIRST + (int) i || (option_rows[i].letter && c == option_rows[i].letter))
                        return &option_rows[i];
        return NULL;
}

bool options_find(const char *name)
{
        for (size_t i = 0; i < n_option_rows; i++)
                if (streq(option_rows[i].name, name))
                        return true;
        return false;
}

const char *options_name(unsigned bits)
{
        for (size_t i = 0; i < n_option_rows; i++)
                if (bits & option_rows[i].bit)
                        return option_rows[i].name;
        return NULL;
}

/* Parses a point in time as journalctl(1) does: a local date, a time of day, a word, or a time span
 * before now. */
static int parse_since(const char *s, time_t now, uint64_t *ret_usec)
{
        static const char *const formats[] = {"today",          "yesterday",         "%Y-%m-%d",
                                              "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%H:%M",
                                              "%H:%M:%S"};
        uint64_t ago, now_usec = (uint64_t) now * USEC_PER_SEC;
        char text[32], *t;
        struct tm day;

        if (!localtime_r(&now, &day) || !copy_string(text, sizeof(text), s))
                return -EINVAL;
        day.tm_hour = day.tm_min = day.tm_sec = 0;
        day.tm_isdst = -1;
        day.tm_mday -= streq(text, "yesterday");
        t = strchr(text, 'T');
        if (t)
                *t = ' ';
        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = day;
                const char *end = strptime(text, formats[i], &tm);
                time_t at;

                if (!end || *end)
                        continue;
                at = mktime(&tm);
                if (at < 0)
                        return -EINVAL;
                *ret_usec = (uint64_t) at * USEC_PER_SEC;
                return 0;
        }
        t = strstr(text, " ago");
        if (t && !t[strlen(" ago")])
                *t = '\0';
        if (streq(text, "now"))
                ago = 0;
        else if (parse_seconds(text + (*text == '-'), &ago) < 0)
                return -EINVAL;
        *ret_usec = 0;
        if (ago < now_usec)
                *ret_usec = now_usec - ago;
        return 0;
}

/* To ssh a word that begins with a dash is an option. */
static bool options_hosts_valid(const char *hosts)
{
        for (const char *at = hosts; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
                if (!*at || *at == ',' || *at == '-')
                        return false;
        return true;
}

/* Fills in the other fields. Reports errors. Returns 0 or -EINVAL. */
static int options_check(struct options *o)
{
        unsigned long long lines = UINT_MAX;

        if (o->given & OPTION_FOLLOW)
                lines = FOLLOW_LINES;
        o->json = o->given & OPTION_JSON;
        o->legend = !(o->given & OPTION_NO_LEGEND);
        o->pager = !(o->given & OPTION_NO_PAGER);
        o->wait_usec = UINT64_MAX;
        if (json_open(o->json_form) < 0)
                log_error("--json=%s: the forms are short and pretty.", o->json_form);
        else if (o->host && !options_hosts_valid(o->host))
                log_error("--host= takes a machine: [USER@]HOST.");
        else if (o->wait && parse_seconds(o->wait, &o->wait_usec) < 0)
                log_error("--wait=%s is no time: it takes 30, 500ms or 5min.", o->wait);
        else if (o->since && parse_since(o->since, time(NULL), &o->since_usec) < 0)
                log_error(
                        "--since=%s is no time: it takes 2026-11-20, 2026-11-20 15:45, 15:45, today, yesterday or -2h.",
                        o->since);
        else if (o->lines && parse_uint(o->lines, 10, UINT_MAX, &lines) < 0)
                log_error("--lines=%s is no number.", o->lines);
        else if (o->json && (o->given & OPTION_FOLLOW))
                log_error("--follow prints text: uasctl monitor --json follows as JSON.");
        else if (o->textfile && !*o->textfile)
                log_error("--textfile= takes a directory.");
        else if (o->json && (o->given & (OPTION_OUTPUT | OPTION_TREE)))
                log_error("--output and --tree belong to the table. --json prints everything.");
        else if (o->given & OPTION_REDACT && o->hwdb)
                log_error("--redact does not work with --hwdb.");
        else {
                o->n_lines = (size_t) lines;
                return 0;
        }
        return -EINVAL;
}

/* Skips argv[0]. Returns as options_parse(). */
static int options_getopt(int argc, char **argv, const char *letters, struct options *o)
{
        int c;

        optind = 0;
        while ((c = next_option(argc, argv, letters)) != -1) {
                const struct ctl_option *row = row_of(c);

                if (!row)
                        return log_failure(-EINVAL, "See uasctl --help.");
                o->given |= row->bit;
                if (row->at)
                        memcpy((char *) o + row->at, &optarg, sizeof(optarg));
        }
        return optind;
}

int options_first_word(int argc, char **argv)
{
        optind = 0;
        opterr = 0;
        while (next_option(argc, argv, "+" LETTERS) != -1)
                ;
        opterr = 1;
        return optind;
}

int options_parse(int argc, char **argv, struct options *ret)
{
        struct options o = {};
        int verb = options_first_word(argc, argv), first;
        char *name;

        if (argc > 0)
                argv[0] = (char *) "uasctl"; /* getopt prints it, like all other messages */
        if (verb >= argc || !streq(argv[verb], VERB_INHIBIT)) {
                first = options_getopt(argc, argv, LETTERS, &o);
        } else {
                /* Options before the verb, and between the verb and the command. */
                first = options_getopt(verb, argv, "+" LETTERS, &o);
                name = argv[verb];
                argv[verb] = argv[0]; /* for the messages of getopt */
                if (first >= 0)
                        first = options_getopt(argc - verb, argv + verb, "+" LETTERS, &o);
                if (first > 0)
                        argv[first += verb - 1] = name;
        }
        if (first < 0 || options_check(&o) < 0)
                return -EINVAL;
        *ret = o;
        return first;
}
