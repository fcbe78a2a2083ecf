/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of a uasd-switch: whether it lives, which attachment it is about, and the wait for its
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/state/switch-record.h"
#include "tree.h"

#define RECORD "run/uasd/switch/" TREE_INTERFACE

static const struct facts facts = {
        .interface = TREE_INTERFACE, .port = "2-1", .busnum = 12, .devnum = 15};

/* A process that has ended and was reaped. */
static pid_t dead(void)
{
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        return pid;
}

static void test_records(void **state)
{
        enum { NONE, LIVES, DEAD };
        static const struct {
                int pid;
                const char *text; /* NULL: no record */
                bool at_work, awaited, of_another;
        } table[] = {
                {NONE, NULL, false, false, false},
                {LIVES, "BUSNUM=12\nDEVNUM=15\nAWAIT=1\n", true, true, false},
                {LIVES, "BUSNUM=12\nDEVNUM=15\nAWAIT=0\n", true, false, false},
                {LIVES, "BUSNUM=12\nDEVNUM=15\n", true, false, false},
                {LIVES, "BUSNUM=13\nDEVNUM=15\n", true, false, true},
                {LIVES, "BUSNUM=12\nDEVNUM=16\n", true, false, true},
                {DEAD, "BUSNUM=12\nDEVNUM=15\nAWAIT=1\n", false, false, false},
                {NONE, "PID=0\nBUSNUM=12\nDEVNUM=15\nAWAIT=1\n", false, false, false},
                {NONE, "PID=-1\nBUSNUM=12\nDEVNUM=15\nAWAIT=1\n", false, false, false},
                {NONE, "PID=2147483648\nBUSNUM=12\nDEVNUM=15\n", false, false, false},
                {LIVES, "PID=x\nBUSNUM=12\nDEVNUM=15\n", false, false, false},
                {NONE, "PID=1\nBUSNUM=12\nDEVNUM=15\n", true, false,
                 false}, /* perhaps of another user */
                {NONE, "", false, false, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char text[128];
                struct tree t;

                tree_make(&t);
                (void) snprintf(text, sizeof(text), "PID=%ld\n%s",
                                table[i].pid == DEAD ? (long) dead() : (long) getpid(),
                                table[i].text ? table[i].text : "");
                if (table[i].text)
                        tree_write(&t, RECORD, table[i].pid == NONE ? table[i].text : text);
                if (switch_at_work(&t.roots, TREE_INTERFACE) != table[i].at_work ||
                    switch_awaited(&t.roots, TREE_INTERFACE) != table[i].awaited ||
                    switch_of_another(&t.roots, &facts) != table[i].of_another ||
                    switch_recorded(&t.roots, TREE_INTERFACE) != (table[i].text != NULL))
                        fail_msg("row %zu", i);
                assert_false(switch_at_work(&t.roots, "2-9:1.0"));
                tree_remove(&t);
        }
}

/* The wait ends with the record, with the death of its process, or with its time. */
static void test_await(void **state)
{
        static const char text[] = "AWAIT=1\n";

        for (int way = 0; way < 3; way++) {
                char record[64];
                struct tree t;
                pid_t it, remover = -1;

                tree_make(&t);
                it = fork();
                if (it == 0)
                        for (;;)
                                (void) pause();
                (void) snprintf(record, sizeof(record), "PID=%ld\n%s", (long) it, text);
                tree_write(&t, RECORD, record);
                if (way == 0) {
                        struct awake began = now_awake();

                        assert_int_equal(
                                switch_await(&t.roots, TREE_INTERFACE, awake_in(USEC_PER_SEC / 5)),
                                -ETIMEDOUT);
                        assert_true(awake_since(began) >= USEC_PER_SEC / 5);
                } else {
                        remover = fork();
                        if (remover == 0) {
                                (void) usleep(100000);
                                if (way == 1)
                                        (void) unlinkat(t.roots.run, "uasd/switch/" TREE_INTERFACE,
                                                        0);
                                else
                                        (void) kill(it, SIGKILL);
                                _exit(0);
                        }
                }
                if (way == 2) /* no other process reaps it */
                        assert_int_equal(waitpid(it, NULL, 0), it);
                if (way > 0) {
                        assert_int_equal(
                                switch_await(&t.roots, TREE_INTERFACE, awake_in(60 * USEC_PER_SEC)),
                                0);
                        assert_int_equal(waitpid(remover, NULL, 0), remover);
                }
                if (way != 2) {
                        (void) kill(it, SIGKILL);
                        assert_int_equal(waitpid(it, NULL, 0), it);
                }
                tree_remove(&t);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_records),
                                           cmocka_unit_test(test_await)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
