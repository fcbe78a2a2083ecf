/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

/* Messages go to journald, or to stderr without it. They never make a program wait. */

static int result;

int __wrap_journal_send(const char *text, size_t size);
int __wrap_journal_send(const char *text, size_t size)
{
        return result;
}

/* stderr is the stream of journald. Returns what was written to it. */
static const char *said(int error, char ret[static 64])
{
        int fds[2], before = dup(STDERR_FILENO);
        struct stat st;
        char stream[64];
        ssize_t n;

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(fstat(fds[1], &st), 0);
        (void) snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long) st.st_dev, (unsigned long long) st.st_ino);
        assert_int_equal(setenv("JOURNAL_STREAM", stream, true), 0);
        assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
        result = error;
        log_open("test", LOG_INFO);
        log_info("hello");
        assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
        n = read(fds[0], ret, 63);
        ret[n > 0 ? n : 0] = '\0';
        (void) close(before);
        (void) close(fds[0]);
        (void) close(fds[1]);
        return ret;
}

static void test_journal(void **state)
{
        char text[64];

        assert_string_equal(said(0, text), "");
        assert_string_equal(said(-ENOENT, text), "test: hello\n");
        assert_string_equal(said(-ECONNREFUSED, text), "test: hello\n");
        /* Its queue is full because it hangs, and soon the stream is full, too. */
        assert_string_equal(said(-EAGAIN, text), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_journal)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
