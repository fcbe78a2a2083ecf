/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of uasd.conf: which lines count, and what is reported about the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/state/conf.h"
#include "tree.h"

#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X190 X100 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define KEY "no such section or key"
#define VALUE "value not understood"
#define LINE "not a KEY=VALUE line"
#define BOM "\xef\xbb\xbf"

static char said[8192];

static void note(const char *file, int line, const char *what, void *data)
{
        assert_ptr_equal(data, said);
        (void) snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s:%i: %s\n", file, line,
                        what);
}

/* Loads the configuration. Returns it as a line. */
static const char *load(struct tree *t)
{
        static char ret[1024];
        struct config c;

        said[0] = '\0';
        assert_int_equal(conf_load(&t->roots, &c, note, said), 0);
        (void) snprintf(ret, sizeof(ret), "%s, quiet %llu, hold %llu, unknown %s",
                        policy_to_string(c.policy),
                        (unsigned long long) (c.quiet_usec / USEC_PER_SEC),
                        (unsigned long long) (c.hold_usec / USEC_PER_SEC),
                        driver_to_string(c.unknown_target));
        for (size_t i = 0; i < c.n_rules; i++)
                (void) snprintf(ret + strlen(ret), sizeof(ret) - strlen(ret), ", %04x:%04x:%s %s",
                                c.rules[i].vid, c.rules[i].pid, c.rules[i].serial ?: "",
                                policy_to_string(c.rules[i].policy));
        config_done(&c);
        return ret;
}

#define USUAL "auto, quiet 2, hold 20, unknown uas"

static const struct {
        const char *text, *config, *said; /* said: "LINE: WHAT" of /etc/uasd/uasd.conf */
} rows[] = {
        /* clang-format off */
        {"", USUAL, ""},
        {"[uasd]\nQuietSec=7\nUnknown = usb-storage \n", "auto, quiet 7, hold 20, unknown usb-storage", ""},
        {"[uasd]\nQuietSec: 7\nHoldSec=0", "auto, quiet 7, hold 0, unknown uas", ""},
        {BOM "[uasd]\nQuietSec=7\n", "auto, quiet 7, hold 20, unknown uas", ""},
        {BOM "no assignment\n[uasd]\nQuietSec=7\n", "auto, quiet 7, hold 20, unknown uas", "1: " LINE "\n"},
        {"[uasd]\n" BOM "junk\nQuietSec=7\n", "auto, quiet 7, hold 20, unknown uas", "2: " LINE "\n"},
        {"# [uasd\n; no\n\n \t\n[uasd]\n# x\nQuietSec=7 ; seconds\n", "auto, quiet 7, hold 20, unknown uas", ""},
        {"QuietSec=7\n", USUAL, "1: " KEY "\n"},
        {"[uasd]\nQuiet=7\n[other]\nQuietSec=7\n", USUAL, "2: " KEY "\n4: " KEY "\n"},
        {"[uasd]\nQuietSec=soon\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "2: " VALUE "\n"},
        {"[uasd\nQuietSec=7\n[uasd]\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "1: " LINE "\n2: " KEY "\n"},
        {"[uasd]\njunk\nHoldSec=9\n  \tjunk\n", "auto, quiet 2, hold 9, unknown uas", "2: " LINE "\n4: " VALUE "\n"},
        {"[uasd]\n  junk\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "2: " LINE "\n"},
        {"[uasd]\nHoldSec=9\n[Disk 1209:5a5a]\n  junk\nPolicy=ignore\n", "auto, quiet 2, hold 9, unknown uas, 1209:5a5a: ignore", "4: " LINE "\n"},
        {"[Disk 1209:5a5a:ONE]\nPolicy=uas\n[Disk 1209]\nPolicy=uas\n[uasd]\nPolicy=usb-storage\n",
         "usb-storage, quiet 2, hold 20, unknown uas, 1209:5a5a:ONE uas", "4: " KEY "\n"},
        /* inih has room for 199 characters */
        {"[uasd]\nUnknown=" X190 "\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "2: " VALUE "\n"},
        {"[uasd]\nUnknown=" X190 X10 "\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "2: too long a line\n"},
        {"[uasd]\n# " X190 X100 "\n\t ; " X190 X100 "\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", ""},
        {"[uasd]\n" X190 X100 "\nHoldSec=9\n", "auto, quiet 2, hold 9, unknown uas", "2: too long a line\n"},
        /* clang-format on */
};

static void test_lines(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char expected[512] = "", *save = NULL, copy[512];
                const char *config;
                struct tree t;

                tree_make(&t);
                tree_write(&t, "etc/uasd/uasd.conf", rows[i].text);
                (void) copy_string(copy, sizeof(copy), rows[i].said);
                for (char *line = strtok_r(copy, "\n", &save); line;
                     line = strtok_r(NULL, "\n", &save))
                        (void) snprintf(expected + strlen(expected),
                                        sizeof(expected) - strlen(expected),
                                        "/etc/uasd/uasd.conf:%s\n", line);
                config = load(&t);
                if (!streq(config, rows[i].config) || !streq(said, expected))
                        fail_msg("row %zu: %s\n%s", i, config, said);
                tree_remove(&t);
        }
}

/* At most so many lines of a file are reported. Each file has its own count, and its own sections.
 */
static void test_many(void **state)
{
        char text[512] = "";
        struct tree t;
        size_t n = 0;

        tree_make(&t);
        for (unsigned i = 0; i < 40; i++)
                strcat(text, "junk\n");
        strcat(text, "[uasd]\nHoldSec=9\n");
        tree_write(&t, "etc/uasd/uasd.conf", text);
        tree_write(&t, "etc/uasd/uasd.conf.d/1.conf", "  junk\nQuietSec=7\n");
        assert_string_equal(load(&t), "auto, quiet 2, hold 9, unknown uas");
        for (const char *line = said; *line; line = strchr(line, '\n') + 1)
                n++;
        assert_int_equal(n, 32 + 1 + 2);
        assert_non_null(strstr(said, "uasd.conf:32: " LINE "\n/etc/uasd/uasd.conf:33: " LINE
                                     ", nor are others below, perhaps\n"
                                     "/etc/uasd/uasd.conf.d/1.conf:1: " LINE
                                     "\n/etc/uasd/uasd.conf.d/1.conf:2: " KEY "\n"));
        tree_remove(&t);
}

/* From the vendor's file to the administrator's drop-ins; a later one goes before. A drop-in hides
 * the vendor's of that name. */
static void test_files(void **state)
{
        struct tree t;
        int lib;

        tree_make(&t);
        tree_write(&t, "usr/lib/uasd/uasd.conf",
                   "[uasd]\nPolicy=ignore\nQuietSec=1\nHoldSec=1\nx\n");
        tree_write(&t, "usr/lib/uasd/uasd.conf.d/20.conf", "[uasd]\nQuietSec=2\nx\n");
        tree_write(&t, "usr/lib/uasd/uasd.conf.d/30.conf", "[uasd]\nHoldSec=3\nx\n");
        tree_write(&t, "etc/uasd/uasd.conf.d/10.conf", "[uasd]\nHoldSec=4\nx\n");
        tree_write(&t, "etc/uasd/uasd.conf.d/30.conf", "[uasd]\nPolicy=uas\n");
        tree_write(&t, "etc/uasd/uasd.conf", "[uasd]\nPolicy=usb-storage\nQuietSec=9\n");
        assert_string_equal(load(&t), "uas, quiet 2, hold 4, unknown uas");
        assert_string_equal(said, "/usr/lib/uasd/uasd.conf:5: " LINE
                                  "\n/etc/uasd/uasd.conf.d/10.conf:3: " LINE
                                  "\n/usr/lib/uasd/uasd.conf.d/20.conf:3: " LINE "\n");
        tree_link(&t, "etc/uasd/uasd.conf", "uasd.conf");
        assert_string_equal(load(&t), "uas, quiet 2, hold 4, unknown uas");
        assert_non_null(strstr(said, "/etc/uasd/uasd.conf:0: Too many levels of symbolic links\n"));
        tree_link(&t, "etc/uasd/uasd.conf", "/dev/null");
        lib = t.roots.lib;
        t.roots.lib = -1; /* a system without /usr/lib */
        assert_string_equal(load(&t), "uas, quiet 2, hold 4, unknown uas");
        assert_null(strstr(said, "uasd.conf:0: "));
        t.roots.lib = lib;
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                           cmocka_unit_test(test_many),
                                           cmocka_unit_test(test_files)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
