/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "ctl/options.h"
#include "ctl/verbs.h"

#define WORDS 8

/* Parses and checks; returns the verb's name, "usage" or "options". */
static const char *parse(struct options *o, const char **argv, char **words)
{
        char *copy[WORDS + 1] = {};
        const struct verb *v;
        int n = 0, first;

        for (; argv[n]; n++)
                copy[n] = (char *) argv[n];
        first = options_parse(n, copy, o);
        if (first < 0)
                return "options";
        for (int i = 0; i <= n - first; i++)
                words[i] = copy[first + i];
        v = verb_check(o, words);
        return v ? v->name : "usage";
}

static void arguments(void **state)
{
        static const struct {
                const char *argv[WORDS];
                const char *expect;
        } rows[] = {
                {{"uasctl"}, "list"},
                {{"uasctl", "list"}, "list"},
                {{"uasctl", "list", "sda"}, "list"},
                {{"uasctl", "--json"}, "list"},
                {{"uasctl", "-j", "list", "--json=short"}, "list"},
                {{"uasctl", "--json=long"}, "options"},
                {{"uasctl", "help"}, "help"},
                {{"uasctl", "help", "list"}, "help"},
                {{"uasctl", "help", "list", "log"}, "usage"},
                {{"uasctl", "switch", "sda", "bot"}, "usage"},
                {{"uasctl", "switch", "uas", "sda"}, "usage"},
                {{"uasctl", "policy", "--kernel", "sda", "uas"}, "policy"},
                {{"uasctl", "status"}, "status"},
                {{"uasctl", "status", "sda"}, "status"},
                {{"uasctl", "status", "sda", "sdb"}, "status"},
                {{"uasctl", "explain"}, "usage"},
                {{"uasctl", "explain", "sda"}, "explain"},
                {{"uasctl", "switch", "sda"}, "switch"},
                {{"uasctl", "switch", "sda", "uas", "--wait=3", "--force", "--dry-run"}, "switch"},
                {{"uasctl", "switch", "sda", "uas", "now"}, "usage"},
                {{"uasctl", "policy", "sda", "ignore"}, "policy"},
                {{"uasctl", "policy", "sda", "ignore", "--tree"}, "usage"},
                {{"uasctl", "policy", "--kernel", "--write", "--dry-run", "sda", "auto"}, "policy"},
                {{"uasctl", "policy", "sda", "ignore", "--force"}, "policy"},
                {{"uasctl", "policy", "--kernel"}, "policy"},
                {{"uasctl", "policy", "--kernel", "sda"}, "policy"},
                {{"uasctl", "explain", "--kernel", "sda"}, "usage"},
                {{"uasctl", "release", "sda", "--force"}, "usage"},
                {{"uasctl", "cancel", "sda"}, "cancel"},
                {{"uasctl", "forget", "sda", "--wait"}, "usage"},
                {{"uasctl", "--wait", "wait", "sda"}, "wait"},
                {{"uasctl", "list", "--wait"}, "usage"},
                {{"uasctl", "-o", "ID"}, "list"},
                {{"uasctl", "list", "--output=+SERIAL"}, "list"},
                {{"uasctl", "list", "--output"}, "options"},
                {{"uasctl", "--tree", "-o", "ID"}, "list"},
                {{"uasctl", "explain", "sda", "--tree"}, "usage"},
                {{"uasctl", "--json", "--tree"}, "options"},
                {{"uasctl", "status", "-o", "ID"}, "usage"},
                {{"uasctl", "list", "--json", "-o", "ID"}, "options"},
                {{"uasctl", "report", "--redact"}, "report"},
                {{"uasctl", "report", "--hwdb=sda"}, "report"},
                {{"uasctl", "report", "--hwdb"}, "options"},
                {{"uasctl", "report", "--hwdb=sda", "--redact"}, "options"},
                {{"uasctl", "log", "--hwdb=sda"}, "usage"},
                {{"uasctl", "list", "-n", "5"}, "usage"},
                {{"uasctl", "log", "-fn5", "sda", "sdb"}, "log"},
                {{"uasctl", "policy", "sda", "uas", "--destroy-data"}, "options"},
                {{"uasctl", ""}, "usage"},
                {{"uasctl", "--nonsense"}, "options"},
                {{"uasctl", "--wait=soon", "wait", "sda"}, "options"},
                {{"uasctl", "--wait=", "wait", "sda"}, "options"},
                {{"uasctl", "--", "status", "--json"}, "status"},
                {{"uasctl", "inhibit", "sleep", "--nonsense", "--tree"}, "inhibit"},
                {{"uasctl", "-q", "inhibit", "--disk=sda", "--why=so", "ls", "-q"}, "inhibit"},
                {{"uasctl", "inhibit", "--", "ls"}, "inhibit"},
                {{"uasctl", "inhibit", "--list"}, "inhibit"},
                {{"uasctl", "inhibit", "--tree", "ls"}, "usage"},
                {{"uasctl", "inhibit", "--nonsense", "ls"}, "options"},
                {{"uasctl", "inhibit", "--disk"}, "options"},
                {{"uasctl", "status", "inhibit", "--disk=sda"}, "usage"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char *words[WORDS + 1];
                struct options o;
                const char *got = parse(&o, (const char **) rows[i].argv, words);

                if (!streq(got, rows[i].expect))
                        fail_msg("row %zu: %s, not %s", i, got, rows[i].expect);
        }
}

static void values(void **state)
{
        const char *argv[] = {"uasctl",      "switch",      "-q",
                              "sda",         "--no-legend", "--no-ask-password",
                              "--wait=1min", NULL};
        char *words[WORDS + 1];
        struct options o;

        assert_string_equal(parse(&o, argv, words), "switch");
        assert_true(o.given & OPTION_QUIET);
        assert_false(o.legend);
        assert_true(o.given & OPTION_NO_ASK_PASSWORD);
        assert_false(o.json);
        assert_int_equal(o.given,
                         OPTION_WAIT | OPTION_QUIET | OPTION_NO_LEGEND | OPTION_NO_ASK_PASSWORD);
        assert_int_equal(o.wait_usec, 60 * USEC_PER_SEC);
        assert_string_equal(words[1], "sda");
        assert_null(words[2]);
}

static void defaults(void **state)
{
        const char *argv[] = {"uasctl", "wait", "sda", "--wait", NULL};
        char *words[WORDS + 1];
        struct options o;

        assert_string_equal(parse(&o, argv, words), "wait");
        assert_true(o.legend);
        assert_false(o.given & OPTION_NO_ASK_PASSWORD);
        assert_true(o.wait_usec == UINT64_MAX);
}

/* Every verb in the table has an implementation. */
static void verbs_are_whole(void **state)
{
        for (size_t i = 0; i < n_verbs; i++) {
                assert_true(verbs[i].run || verbs[i].method || streq(verbs[i].name, VERB_BENCH) ||
                            streq(verbs[i].name, VERB_HELP));
                assert_false(verbs[i].run && verbs[i].method);
                assert_true(!verbs[i].method == !verbs[i].done);
                /* verb_run() calls a method only for each disk */
                assert_true(!verbs[i].method || verbs[i].each);
                assert_non_null(verbs[i].help);
                assert_ptr_equal(verb_find(verbs[i].name), &verbs[i]);
        }
}

/* Words after the command's name belong to the command. */
static void command(void **state)
{
        const char *argv[WORDS] = {"uasctl", "-q", "inhibit", "--why=so", "ls", "-h", "--disk=sda"};
        char *words[WORDS + 1];
        struct options o;

        assert_string_equal(parse(&o, argv, words), "inhibit");
        assert_true(o.given & OPTION_QUIET);
        assert_false(o.given & OPTION_HELP);
        assert_string_equal(o.why, "so");
        assert_null(o.disk);
        assert_string_equal(words[0], "inhibit");
        assert_string_equal(words[1], "ls");
        assert_string_equal(words[2], "-h");
        assert_string_equal(words[3], "--disk=sda");
        assert_null(words[4]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(arguments),       cmocka_unit_test(command),
                cmocka_unit_test(values),          cmocka_unit_test(defaults),
                cmocka_unit_test(verbs_are_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
