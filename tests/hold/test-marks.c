/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Three programs change the mark of an attachment at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/names.h"
#include "sys/state/attachment.h"
#include "tree.h"

static const struct facts facts = {.interface = TREE_INTERFACE, .port = "2-1", .busnum = 2, .devnum = 5};

/* First process: `writes` announces that it is about to write, and a byte in `may_write` lets it continue. Second process:
 * `waits` announces that it waits for the lock. */
static int writes = -1, may_write = -1, waits = -1;

int __real_state_write(int dirfd, const char *path, const char *text, bool durable);
int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static void tell(int fd)
{
        if (write(fd, "", 1) != 1)
                _exit(2);
}

static void hear(int fd)
{
        char byte;

        if (read(fd, &byte, 1) != 1)
                _exit(2);
}

int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable)
{
        if (writes >= 0) {
                tell(writes);
                hear(may_write);
        }
        return __real_state_write(dirfd, path, text, durable);
}

int __wrap_flock(int fd, int operation)
{
        int r = __real_flock(fd, operation);

        if (r < 0 && waits >= 0) {
                tell(waits);
                waits = -1;
                errno = EWOULDBLOCK;
        }
        return r;
}

static void ended(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* The first process has read the mark and is about to write it when the second one starts. */
static void test_two_processes(void **state)
{
        int begun[2], go[2], second[2];
        struct attachment_mark m;
        pid_t first, other;
        struct tree t;

        tree_make(&t);
        assert_int_equal(pipe(begun) + pipe(go) + pipe(second), 0);
        first = fork();
        if (first == 0) {
                writes = begun[1];
                may_write = go[0];
                _exit(attachment_change(&t.roots, &facts, MARK_TRIED, &(struct attachment_mark){.tried = true}) < 0);
        }
        hear(begun[0]);
        other = fork();
        if (other == 0) {
                int k;

                waits = second[1];
                k = attachment_change(&t.roots, &facts, MARK_CANCELLED, &(struct attachment_mark){.cancelled = true});
                if (waits >= 0)
                        tell(waits);
                _exit(k < 0);
        }
        hear(second[0]);
        tell(go[1]);
        ended(first);
        ended(other);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_true(m.tried && m.cancelled);
        tree_remove(&t);
}

/* A change keeps the other fields. */
static void test_fields(void **state)
{
        const struct attachment_mark all = {true, true, true, true, DRIVER_UAS, true, true, DRIVER_UAS},
                                     none = {.override_target = DRIVER_NONE};
        struct attachment_mark m;
        struct tree t;

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_ALL, &all), 0);
        for (unsigned field = 1; field < MARK_ALL; field <<= 1) {
                assert_int_equal(attachment_change(&t.roots, &facts, field, &none), 0);
                assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
                assert_int_equal(m.tried, field != MARK_TRIED);
                assert_int_equal(m.released, field != MARK_RELEASED);
                assert_int_equal(m.no_auto, field != MARK_NO_AUTO);
                assert_int_equal(m.cancelled, field != MARK_CANCELLED);
                assert_int_equal(m.override_target, field == MARK_OVERRIDE ? DRIVER_NONE : DRIVER_UAS);
                assert_int_equal(m.override_forced, field != MARK_OVERRIDE);
                assert_int_equal(m.untold, field != MARK_UNTOLD);
                assert_int_equal(m.lease, field == MARK_LEASE ? DRIVER_NONE : DRIVER_UAS);
                assert_int_equal(attachment_change(&t.roots, &facts, MARK_ALL, &all), 0);
        }
        assert_int_equal(attachment_drop_override(&t.roots, &facts, DRIVER_USB_STORAGE), 1);
        assert_int_equal(attachment_drop_override(&t.roots, &facts, DRIVER_UAS), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_int_equal(m.override_target, DRIVER_NONE);
        assert_true(m.tried && m.released && m.no_auto && m.cancelled);
        tree_remove(&t);
}

/* A process that was stopped while it had the lock does not prolong a hold. */
static void test_lock_that_is_not_released(void **state)
{
        struct attachment_mark m;
        struct stat st;
        struct tree t;
        int fd;

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, &facts, MARK_TRIED, &(struct attachment_mark){.tried = true}), 0);
        fd = openat(t.roots.run, RUN_ATTACHMENT_LOCK, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600); /* otherwise any user could take the lock */
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(hold_release(&t.roots, &facts), 0);
        assert_int_equal(attachment_read(&t.roots, &facts, &m), 1);
        assert_true(m.released && m.tried);
        (void) close(fd);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two_processes),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_lock_that_is_not_released),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
