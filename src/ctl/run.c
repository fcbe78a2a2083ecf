/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

#include <ctype.h>
#include <limits.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "ctl/translate.h"
#include "term/program.h"
#include "term/terminal.h"

/* The words and options of a command line, against the table of verbs. */

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

/* The number of characters to insert, delete, replace or exchange with the next one; more than `most`: at least so many. */
static unsigned mistakes(const char *a, const char *b, unsigned most)
{
        const char *next_a, *next_b;
        unsigned n;

        while (*a && tolower((unsigned char) *a) == *b)
                a++, b++;
        if (most == 0 || (!*a && !*b))
                return *a || *b;
        next_a = a + (*a != '\0');
        next_b = b + (*b != '\0');
        n = least(mistakes(next_a, next_b, most - 1), least(mistakes(next_a, b, most - 1), mistakes(a, next_b, most - 1)));
        if (*a && *b && *a == b[1] && a[1] == *b)
                n = least(n, mistakes(a + 2, b + 2, most - 1));
        return n + 1;
}

/* The verb that was probably meant; NULL: none is near. */
static const char *near_verb(const char *word)
{
        unsigned fewest = strlen(word) > 3 ? 3 : 2;
        const char *found = NULL;

        for (size_t i = 0; fewest > 0 && i < n_verbs; i++) {
                unsigned n = mistakes(word, verbs[i].name, fewest - 1);

                if (n < fewest) {
                        fewest = n;
                        found = verbs[i].name;
                }
        }
        return found;
}

/* No verb has a digit, a slash or a colon. */
static bool is_disk_name(const char *word)
{
        return word[strcspn(word, "/:0123456789")] || (strncmp(word, "sd", 2) == 0 && strlen(word) <= 4);
}

static void tell_unknown_verb(const char *word)
{
        const char *near = near_verb(word);

        if (options_find(word))
                log_error("There is no verb '%s', but an option: uasctl --%s", word, word);
        else if (is_disk_name(word))
                log_error("There is no verb '%s'. To see a disk: uasctl status %s", word, word);
        else if (near)
                log_error("There is no verb '%s'. Did you mean '%s'? uasctl --help lists all.", word, near);
        else
                log_error("There is no verb '%s'; uasctl --help lists them.", word);
}

/* Data that does not come from the daemon is not available over the bus of another machine. */
static bool fits_host(const struct options *o, const struct verb *v)
{
        unsigned local = o->given & (OPTION_DRY_RUN | OPTION_KERNEL);
        const char *with = local & OPTION_DRY_RUN ? " --dry-run" : local ? " --kernel" : "";

        if (!o->host || (v->takes & OPTION_HOST && !local))
                return true;
        log_error("'%s%s' reads the machine it runs on. For the other one: ssh %s uasctl %s%s ...", v->name, with, o->host,
                  v->name, with);
        return false;
}

/* The values in the row of a verb that sets something: "DISK [on|off]". n: gets the length. NULL: it sets nothing. */
static const char *values_of(const struct verb *v, size_t *n)
{
        const char *last = strrchr(v->arguments, '[');

        if (!last || !strchr(last, '|'))
                return NULL;
        *n = strcspn(++last, "]");
        return last;
}

static bool is_value(const char *values, size_t n, const char *word)
{
        for (const char *at = values; at < values + n; at += strcspn(at, "|]") + 1)
                if (strlen(word) == strcspn(at, "|]") && strncmp(at, word, strlen(word)) == 0)
                        return true;
        return false;
}

/* Checks the second argument of a verb that sets something. */
static bool fits_value(const struct verb *v, const char *disk, const char *word)
{
        size_t n = 0;
        const char *values = values_of(v, &n);

        if (!values || is_value(values, n, word))
                return true;
        if (is_value(values, n, disk))
                log_error("The disk comes first: uasctl %s %s %s", v->name, word, disk);
        else if (strcasecmp(word, "bot") == 0 && is_value(values, n, DRIVER_NAME_BOT))
                log_error("'%s' is no driver. The driver for BOT is usb-storage: uasctl %s %s usb-storage", word, v->name, disk);
        else
                log_error("'%s' is no value for %s: %.*s", word, v->name, (int) n, values);
        return false;
}

const struct verb *verb_check(const struct options *o, char **words)
{
        const char *verb = words[0] ?: "list";
        const struct verb *v = verb_find(verb);
        const char *refused;
        unsigned n = 0;

        if (!v) {
                tell_unknown_verb(verb);
                return NULL;
        }
        while (words[0] && words[n + 1])
                n++;
        if (n < v->min_args || n > v->max_args) {
                log_error(n < v->min_args ? N_("Too few arguments: uasctl %s%s%s") : N_("Too many arguments: uasctl %s%s%s"),
                          v->name, *v->arguments ? " " : "", v->arguments);
                return NULL;
        }
        if (n == 2 && !fits_value(v, words[1], words[2]))
                return NULL;
        if (!fits_host(o, v))
                return NULL;
        refused = options_name(o->given & ~(v->takes | OPTIONS_OF_ALL | OPTION_HOST | OPTION_JSON));
        if (refused) {
                log_error("'%s' does not take --%s.", v->name, refused);
                return NULL;
        }
        /* Every verb accepts this option, but other output must not pass for JSON. */
        if ((o->given & OPTION_JSON) && (!(v->takes & OPTION_JSON) || (v->shows && n > v->shows))) {
                log_error(v->shows ? N_("'%s' prints no JSON when it changes something: leave out --json.")
                                   : N_("'%s' prints no JSON: leave out --json."),
                          v->name);
                return NULL;
        }
        return v;
}

int verb_run(const struct verb *v, struct ctl *c, char **args)
{
        int r = ctl_read(c, v->disks, NULL);

        if (r == UASD_EXIT_OK && v->disks != FROM_NOWHERE)
                r = ctl_choose(c, args);
        if (r == UASD_EXIT_OK)
                r = v->run(c, args);
        if (r == UASD_EXIT_OK && c->json)
                json_print(json_document("disks", json_object_get(c->json)));
        json_putp(&c->json);
        remote_close(&c->remote);
        views_done(&c->views);
        return r;
}

/* Prints the help of a verb, or that of uasctl if name is NULL. */
static int help(const char *name)
{
        const struct verb *v = name ? verb_find(name) : NULL;

        if (name && !v) {
                tell_unknown_verb(name);
                return UASD_EXIT_USAGE;
        }
        verbs_help(v);
        return UASD_EXIT_OK;
}

/* Executes uasctl-bench with all words except the verb. Returns only on failure, reported. */
static int bench_exec(const char *root, char **argv, int verb)
{
        char path[PATH_MAX];

        if ((size_t) snprintf(path, sizeof(path), "%s" PROGRAM_BENCH, root ?: "") >= sizeof(path))
                return UASD_EXIT_FAILED;
        for (char **word = argv + verb; *word; word++)
                word[0] = word[1];
        (void) execv(path, argv);
        if (errno == ENOENT)
                return log_failure(UASD_EXIT_TOOL_MISSING, "uasctl bench is not installed: install the package uasd-bench.");
        return log_failure(UASD_EXIT_FAILED, "Cannot run %s: %s", path, strerror(errno));
}

/* The language of messages. It is English if they are not UTF-8, because make_harmless() makes other bytes visible. */
static void choose_language(const char *root)
{
        char path[PATH_MAX];

        if (!style_utf8())
                return;
        (void) snprintf(path, sizeof(path), "%s" LOCALEDIR, root ?: "");
        (void) bindtextdomain("uasd", path);
        (void) textdomain("uasd");
}

static int run(int argc, char **argv, const char *root)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        const struct verb *verb;
        struct options o;
        int first, r;

        choose_language(root);
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
        if (o.given & OPTION_HELP)
                return help(argv[first]);
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
                return help(argv[first + (first < argc)]);
        /* With --host nothing of this machine is read. */
        r = o.host ? 0 : roots_open(&roots, root);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot open /sys: %s", strerror(-r));
        return verb_run(verb,
                        &(struct ctl){.options = &o,
                                      .client = {roots, o.host, !(o.given & OPTION_NO_ASK_PASSWORD), translate},
                                      .root = root},
                        argv + first + (first < argc));
}

int uasctl_run(int argc, char **argv, const char *root)
{
        return program_run(run, argc, argv, root);
}
