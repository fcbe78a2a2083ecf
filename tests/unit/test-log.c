/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/syslogd.h"

#include "unit.h"

/* Messages go to journald, to stderr without it, or to syslogd. They never make a program wait. */

static int result;
static char *sent; /* the last message to journald */

int __wrap_journal_send(const char *text, size_t size);
int __wrap_journal_send(const char *text, size_t size)
{
        free(sent);
        sent = strndup(text, size);
        return result;
}

/* stderr is the stream of journald. Returns what was written to it. */
static const char *said_of(const char *message, int error, char *ret, size_t size)
{
        int fds[2], before = dup(STDERR_FILENO);
        struct stat st;
        char stream[64];
        ssize_t n;

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(fstat(fds[1], &st), 0);
        (void) snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long) st.st_dev,
                        (unsigned long long) st.st_ino);
        assert_int_equal(setenv("JOURNAL_STREAM", stream, true), 0);
        assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
        result = error;
        log_open("test", LOG_INFO);
        log_info("%s", message);
        assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
        n = read(fds[0], ret, size - 1);
        ret[n > 0 ? n : 0] = '\0';
        (void) close(before);
        (void) close(fds[0]);
        (void) close(fds[1]);
        return ret;
}

static const char *said(int error, char ret[static 64])
{
        return said_of("hello", error, ret, 64);
}

/* A command in it is something else if it is cut. */
static void test_whole(void **state)
{
        char message[4000] = "", text[20000], expected[20000];

        memset(message, 'x', sizeof(message) - 1);
        for (size_t n = 1000; n < sizeof(message); n += 500) {
                message[n] = '\0';
                (void) snprintf(expected, sizeof(expected), "test: %s\n", message);
                assert_string_equal(said_of(message, -ENOENT, text, sizeof(text)), expected);
                assert_string_equal(said_of(message, 0, text, sizeof(text)), "");
                (void) snprintf(expected, sizeof(expected), "MESSAGE=%s\n", message);
                assert_non_null(strstr(sent, expected));
                message[n] = 'x';
        }
        /* Escaped it is four times as long. */
        memset(message, '\n', sizeof(message) - 1);
        assert_int_equal(strlen(said_of(message, -ENOENT, text, sizeof(text))),
                         strlen("test: \n") + 4 * (sizeof(message) - 1));
        free(sent);
        sent = NULL;
}

/* A name that a device or a process has chosen cannot add a field to the journal's entry. */
static void test_fields(void **state)
{
        const struct log_field fields[] = {{"DISK", "sda\nPRIORITY=0"}, {"NONE", ""}};
        char text[64];

        (void) said(0, text); /* the stream is the journal's */
        result = 0;
        log_ending(LOG_NOTICE, "4711", fields, ELEMENTSOF(fields), "x\nPRIORITY=0 \x1b");
        assert_string_equal(
                sent,
                "MESSAGE=x\\x0aPRIORITY=0 \\x1b\nPRIORITY=5\nSYSLOG_IDENTIFIER=test\nMESSAGE_ID=4711\n"
                "DISK=sda\\x0aPRIORITY=0\n");
        free(sent);
        sent = NULL;
        /* a sentence in parts */
        log_ending(LOG_NOTICE, "4711", fields, ELEMENTSOF(fields), "␂%%s has it␟x\ny␃");
        assert_string_equal(sent, "MESSAGE=x\\x0ay has it\nPRIORITY=5\nSYSLOG_IDENTIFIER=test\n"
                                  "MESSAGE_ID=4711\nDISK=sda\\x0aPRIORITY=0\n"
                                  "UASD_PARTS=␂%s has it␟x\\x0ay␃\n");
        free(sent);
        sent = NULL;
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

static off_t size_of(const char *folder, const char *name)
{
        char path[128];
        struct stat st;

        (void) snprintf(path, sizeof(path), "%s/%s", folder, name);
        return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* A syslogd that hangs makes no program wait. Without one the messages are in files of limited
 * size. */
static void test_syslogd(void **state)
{
        const char line[] = "test: hello\n";
        char top[] = "/tmp/test-log-XXXXXX", folder[64], text[64], command[96];
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        size_t lines = 3 * SYSLOGD_FILE_MAX / strlen(line);
        off_t all;

        assert_non_null(mkdtemp(top));
        (void) snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", top);
        (void) snprintf(folder, sizeof(folder), "%s/uasd", top);
        assert_int_equal(bind(fd, (const struct sockaddr *) &name, sizeof(name)), 0);
        syslogd_send(name.sun_path, folder, LOG_NOTICE, line);
        assert_int_equal(read(fd, text, sizeof(text)), strlen("<29>test: hello"));
        assert_memory_equal(text, "<29>test: hello", strlen("<29>test: hello"));
        for (size_t i = 0; i < 10000; i++) /* more than its queue holds */
                syslogd_send(name.sun_path, folder, LOG_NOTICE, line);
        assert_int_equal(size_of(folder, "log"), -1);
        (void) close(fd);
        /* It has died. */
        syslogd_send(name.sun_path, folder, LOG_NOTICE, line);
        assert_int_equal(size_of(folder, "log"), strlen(line));
        for (size_t i = 0; i < lines; i++)
                syslogd_send(name.sun_path, folder, LOG_NOTICE, line);
        all = size_of(folder, "log") + size_of(folder, "log.1");
        assert_in_range(all, SYSLOGD_FILE_MAX, 2 * SYSLOGD_FILE_MAX);
        (void) snprintf(command, sizeof(command), "rm -r %s", top);
        assert_int_equal(system(command), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_journal), cmocka_unit_test(test_syslogd),
                cmocka_unit_test(test_whole), cmocka_unit_test(test_fields)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
