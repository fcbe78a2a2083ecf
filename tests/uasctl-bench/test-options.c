/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../unit/unit.h"

#include <fcntl.h>

#include "bench/measure/subject.h"
#include "bench/program.h"

#define WORDS 10

/* Parses a command line after "uasctl bench". */
static int parse(const char *const *argv, struct bench_options *o, unsigned *ret_words)
{
        char *copy[WORDS + 2] = {(char *) "uasctl"};
        int n = 1, first;

        for (; argv[n - 1]; n++)
                copy[n] = (char *) argv[n - 1];
        first = bench_options_parse(n, copy, o);
        if (first < 0)
                return first;
        *ret_words = (unsigned) (n - first);
        return 0;
}

static void command_lines(void **state)
{
        /* wrong: the beginning of the error, NULL if valid, "" if the option itself is refused */
        static const struct {
                const char *argv[WORDS];
                const char *wrong;
        } rows[] = {
                {{"sda"}, NULL},
                {{"sda", "--driver=uas"}, NULL},
                {{"sda", "--driver=usb-storage", "-n", "20", "--runtime=5s", "--pause=0", "--size=512M"}, NULL},
                {{"sda", "--profile", "gcp", "--destroy-data", "--json"}, NULL},
                {{"--file=/mnt", "--write"}, NULL},
                {{"sda", "--file=/mnt/file", "--csv"}, NULL},
                {{"--file=/mnt/file", "--clients=a,b", "--size=1G"}, NULL},
                {{"sda", "--sweep=depth", "--pattern=RND4K-Q32T1", "--chart=x.svg"}, NULL},
                {{"run", "sda"}, NULL},
                {{"run"}, "A disk or a file is missing"},
                {{"list"}, NULL},
                {{"list", "sda", "--json"}, NULL},
                {{"list", "a", "b"}, "'list' takes one disk"},
                {{"diff", "a", "b"}, NULL},
                {{"diff", "a"}, "'diff' takes two"},
                {{"show", "a", "--csv"}, NULL},
                {{"show"}, "'show' takes the id"},
                {{"--show"}, "'--show' takes the id"},
                {{"remove"}, "'remove' takes the id"},
                {{"remove", "a", "--json"}, "'remove' prints nothing"},
                {{"remove", "a"}, NULL},
                {{"remove", "a", "--runtime=5"}, "'remove' measures nothing"},
                {{"--history"}, NULL},
                {{"--history", "sda", "--json"}, NULL},
                {{"--diff", "a", "b"}, NULL},
                {{NULL}, "A disk or a file is missing"},
                {{"sda", "sdb"}, "One disk"},
                {{"sda", "--write"}, "--write needs --file"},
                {{"sda", "--file=/mnt", "--destroy-data"}, "--destroy-data writes"},
                {{"sda", "--file=/mnt", "--driver=uas"}, "A mounted disk"},
                {{"--file=/mnt", "--write", "--remount", "--profile=gcp"}, NULL},
                {{"sda", "--file=/mnt", "--write", "--remount", "--driver=uas"}, NULL},
                {{"sda", "--remount"}, "--remount needs"},
                {{"sda", "--file=/mnt", "--remount"}, "--remount needs"},
                {{"--file=/mnt", "--write", "--remount", "--clients=a"}, "--remount needs"},
                {{"sda", "--sweep=runtime", "--runtime=5"}, "--sweep=runtime and"},
                {{"sda", "--clients=a"}, "--clients needs"},
                {{"--file=/mnt/file", "--clients=a", "--sweep=depth"}, "--clients and --sweep"},
                {{"sda", "--json", "--csv"}, "Only one of"},
                {{"sda", "--csv", "--markdown"}, "Only one of"},
                {{"sda", "--dry-run"}, NULL},
                {{"sda", "--dry-run", "--json"}, "--dry-run measures nothing"},
                {{"sda", "--dry-run", "--csv"}, "--dry-run measures nothing"},
                {{"sda", "--dry-run", "--markdown"}, "--dry-run measures nothing"},
                {{"--file=/mnt/file", "--dry-run", "--chart=x.svg"}, "--dry-run measures nothing"},
                {{"--show", "a"}, NULL},
                {{"--show", "a", "--json", "--chart=x.svg"}, NULL},
                {{"--show", "a", "--markdown"}, NULL},
                {{"--remove", "a"}, NULL},
                {{"--history", "--diff", "a", "b"}, "Only one of --history"},
                {{"--show", "--remove", "a"}, "Only one of --history"},
                {{"--history", "-n", "3"}, "'--history' measures nothing"},
                {{"--history", "--pause=1s"}, "'--history' measures nothing"},
                {{"--history", "--dry-run"}, "'--history' measures nothing"},
                {{"--remove", "a", "--dry-run"}, "'--remove' measures nothing"},
                {{"--history", "--csv"}, "--csv, --markdown and --chart need one"},
                {{"--history", "--chart=x.svg"}, "--csv, --markdown and --chart need one"},
                {{"--diff", "a", "b", "--markdown"}, "--csv, --markdown and --chart need one"},
                {{"--remove", "a", "--csv"}, "--csv, --markdown and --chart need one"},
                {{"--show", "--remove"}, "Only one of --history"},
                {{"--show", "a", "b"}, "'--show' takes the id"},
                {{"--remove"}, "'--remove' takes the id"},
                {{"--remove", "a", "--json"}, "'--remove' prints nothing"},
                {{"--show", "a", "--json", "--csv"}, "Only one of"},
                {{"--history", "a", "b"}, "'--history' takes one disk"},
                {{"--diff", "a"}, "'--diff' takes two"},
                {{"sda", "--driver=auto"}, ""},
                {{"sda", "--driver=none"}, ""},
                {{"sda", "--profile="}, ""},
                {{"sda", "-n", "0"}, ""},
                {{"sda", "-n", "61"}, ""},
                {{"sda", "-n", "-1"}, ""},
                {{"sda", "-n", "five"}, ""},
                {{"sda", "--runtime=0"}, ""},
                {{"sda", "--runtime=500ms"}, ""},
                {{"sda", "--runtime=1.7"}, ""},
                {{"sda", "--runtime=1500ms"}, ""},
                {{"sda", "--runtime=25h"}, ""},
                {{"sda", "--runtime=soon"}, ""},
                {{"sda", "--pause=soon"}, ""},
                {{"sda", "--size=1023"}, ""},
                {{"sda", "--size=0"}, ""},
                {{"sda", "--size=big"}, ""},
                {{"sda", "--size=99999999999T"}, ""},
                {{"sda", "--confirm-serial=S1"}, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct bench_options o;
                const char *wrong;
                char room[BENCH_WRONG_MAX];
                unsigned n = 0;
                int k = parse(rows[i].argv, &o, &n);

                if (rows[i].wrong && !*rows[i].wrong) {
                        if (k != -EINVAL)
                                fail_msg("row %zu: it is taken", i);
                        continue;
                }
                if (k < 0)
                        fail_msg("row %zu: it is refused", i);
                wrong = bench_options_wrong(&o, n, room);
                if (!wrong != !rows[i].wrong || (wrong && strncmp(wrong, rows[i].wrong, strlen(rows[i].wrong)) != 0))
                        fail_msg("row %zu: '%s'", i, wrong ?: "nothing wrong");
        }
}

static void values(void **state)
{
        const char *const argv[] = {"sda",      "--size=2g",   "-n", "7", "--runtime=1min", "--sweep=jobs=1,4",
                                    "--driver", "usb-storage", NULL};
        struct bench_options o;
        unsigned n;

        assert_int_equal(parse(argv, &o, &n), 0);
        assert_int_equal(o.verb, BENCH_RUN);
        assert_int_equal(n, 1);
        assert_true(o.size == 2ULL << 30);
        assert_int_equal(o.rounds, 7);
        assert_int_equal(o.runtime_sec, 60);
        assert_true(o.pause_usec == 5 * USEC_PER_SEC);
        assert_int_equal(o.driver, DRIVER_USB_STORAGE);
        assert_string_equal(o.sweep, "jobs=1,4");
        assert_non_null(o.measures);
}

static void scratch(void **state)
{
        char folder[] = "/tmp/test-bench-XXXXXX", command[64];
        uint64_t room = 0;
        int fd;

        assert_non_null(mkdtemp(folder));
        assert_int_equal(scratch_make(folder, UINT64_MAX / 2, &room), -ENOSPC);
        assert_true(room > 0);
        assert_int_equal(scratch_make("/nowhere/at/all", 4096, &room), -ENOENT);
        /* `room` was free: the file takes at most half of it, less if less is wanted, and never less than the minimum */
        assert_int_equal(scratch_fitting(folder, 0, 1), 1);
        assert_int_equal(scratch_fitting(folder, room / 8, 4096), room / 8);
        assert_in_range(scratch_fitting(folder, UINT64_MAX, 4096), room / 3, room * 2 / 3);
        assert_true(scratch_fitting(folder, UINT64_MAX, UINT64_MAX / 2) == UINT64_MAX / 2);
        assert_int_equal(scratch_fitting("/nowhere/at/all", 1 << 20, 4096), 4096);
        fd = scratch_make(folder, 1 << 20, &room);
        assert_true(fd >= 0);
        (void) snprintf(command, sizeof(command), "test $(stat -Lc %%s /proc/%i/fd/%i) = 1048576", getpid(), fd);
        assert_int_equal(system(command), 0);
        /* It has no name: nothing remains after the process, whatever happens. */
        assert_int_equal(rmdir(folder), 0);
        (void) close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(command_lines),
                cmocka_unit_test(values),
                cmocka_unit_test(scratch),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
