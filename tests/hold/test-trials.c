/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shutdown ends all trials of this boot, and no others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/state/history.h"
#include "tree.h"

static struct facts disk(const char *serial)
{
        struct facts f = {.vid = 0x1209, .pid = 0x5a5a, .speed_mbps = 5000, .busnum = 2, .controller_device = "0000:00:14.0"};

        (void) copy_string(f.serial, sizeof(f.serial), serial);
        (void) copy_string(f.port, sizeof(f.port), "2-1");
        return f;
}

static void assert_state(struct tree *t, const char *serial, enum history_state state)
{
        struct facts f = disk(serial);
        struct history h;

        assert_int_equal(history_read(&t->roots, &f, &h), 1);
        assert_int_equal(h.state, state);
}

static void write_state(struct tree *t, const char *boot, const char *serial, struct history h)
{
        struct facts f = disk(serial);

        tree_write(t, "proc/sys/kernel/random/boot_id", boot);
        assert_int_equal(history_write(&t->roots, &f, &h), 0);
}

static void test_end_trials(void **state)
{
        struct tree t;

        tree_make(&t);
        write_state(&t, "before\n", "DIED", (struct history){.state = HISTORY_TRIAL});
        write_state(&t, "now\n", "RUNS", (struct history){.state = HISTORY_TRIAL});
        write_state(&t, "now\n", "ONCE MORE", (struct history){.state = HISTORY_TRIAL, .distrusted = true});
        write_state(&t, "now\n", "PASSED", (struct history){.state = HISTORY_PASSED});
        assert_int_equal(history_end_trials(&t.roots, NULL), 0);
        assert_state(&t, "DIED", HISTORY_TRIAL);
        assert_state(&t, "RUNS", HISTORY_ENDED);
        assert_state(&t, "ONCE MORE", HISTORY_DISTRUSTED);
        assert_state(&t, "PASSED", HISTORY_PASSED);
        tree_remove(&t);
}

/* By the name that a user reads, at all ports; and by a disk. Another serial number that begins alike is another disk. */
static void test_forget(void **state)
{
        static const char *const serials[] = {"ONE", "ONE2", "TWO"};
        struct facts f;
        struct history h;
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(serials); i++)
                write_state(&t, "now\n", serials[i], (struct history){.state = HISTORY_PASSED});
        f = disk("ONE");
        (void) copy_string(f.port, sizeof(f.port), "2-9");
        assert_int_equal(history_write(&t.roots, &f, &(struct history){.state = HISTORY_PASSED}), 0);
        assert_int_equal(history_forget_id(&t.roots, "1209:5a5a:ONE"), 0);
        assert_int_equal(history_forget_id(&t.roots, "1209:5a5a:ONE"), -ENOENT);
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        f = disk("ONE");
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        assert_state(&t, "ONE2", HISTORY_PASSED);
        f = disk("TWO");
        assert_int_equal(history_forget(&t.roots, &f), 0);
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        assert_state(&t, "ONE2", HISTORY_PASSED);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_end_trials), cmocka_unit_test(test_forget)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
