/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history of disks: the end of trials, what is forgotten, and what goes if there is too much.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/state/history.h"
#include "tree.h"

static struct facts disk(const char *serial)
{
        struct facts f = {.vid = 0x1209,
                          .pid = 0x5a5a,
                          .speed_mbps = 5000,
                          .busnum = 2,
                          .controller_device = "0000:00:14.0"};

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
        write_state(&t, "now\n", "ONCE MORE",
                    (struct history){.state = HISTORY_TRIAL, .distrusted = true});
        write_state(&t, "now\n", "PASSED", (struct history){.state = HISTORY_PASSED});
        assert_int_equal(history_end_trials(&t.roots, NULL), 0);
        assert_state(&t, "DIED", HISTORY_TRIAL);
        assert_state(&t, "RUNS", HISTORY_ENDED);
        assert_state(&t, "ONCE MORE", HISTORY_DISTRUSTED);
        assert_state(&t, "PASSED", HISTORY_PASSED);
        tree_remove(&t);
}

/* A trial that began while there was room can end when there is none, also by the return of a
 * longer record. No other begins. */
static void test_full_disk(void **state)
{
        struct history long_ago = {.state = HISTORY_DISTRUSTED,
                                   .failed = true,
                                   .distrusted = true,
                                   .kernel = "6.1.0-long-name-amd64"};
        struct facts f = disk("RUNS"), other = disk("OTHER");
        struct roots before;
        struct tree t;
        char path[PATH_MAX], block[1024] = "";
        int fd;

        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                skip();
        tree_make(&t);
        before = t.roots;
        (void) snprintf(path, sizeof(path), "%s/etc", t.path);
        assert_int_equal(mount("none", path, "tmpfs", 0, "size=8k"), 0);
        t.roots.etc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        t.roots.var = -1;
        memset(long_ago.reason, 'x', sizeof(long_ago.reason) - 1);
        write_state(&t, "now\n", "RUNS", (struct history){.state = HISTORY_TRIAL});
        fd = openat(t.roots.etc, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        while (write(fd, block, sizeof(block)) > 0)
                ;
        assert_int_equal(errno, ENOSPC);

        assert_int_equal(history_end_trials(&t.roots, NULL), 0);
        assert_state(&t, "RUNS", HISTORY_ENDED);
        assert_int_equal(history_put_back(&t.roots, &f, &long_ago), 0);
        assert_state(&t, "RUNS", HISTORY_DISTRUSTED);
        assert_int_equal(history_write(&t.roots, &other, &(struct history){.state = HISTORY_TRIAL}),
                         -ENOSPC);
        assert_state(&t, "RUNS", HISTORY_DISTRUSTED);
        assert_int_equal(history_read(&t.roots, &other, &long_ago), 0);

        (void) close(fd);
        (void) close(t.roots.etc);
        assert_int_equal(umount(path), 0);
        t.roots = before;
        tree_remove(&t);
}

/* By the name that a user reads, at all ports; and by a disk. Another serial number that begins
 * alike is another disk. */
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
        assert_int_equal(history_write(&t.roots, &f, &(struct history){.state = HISTORY_PASSED}),
                         0);
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

/* ---- at most 256 lines ---- */

#define LINES 256

static int count(const char *key, const struct history *h, void *data)
{
        ++*(size_t *) data;
        return 0;
}

static bool there(struct tree *t, unsigned number)
{
        char serial[16];
        struct facts f;
        struct history h;

        (void) snprintf(serial, sizeof(serial), "S%03u", number);
        f = disk(serial);
        return history_read(&t->roots, &f, &h) > 0;
}

/* One disk more. Lines that matter go last; of equals the oldest goes first. */
static void test_too_many(void **state)
{
        static const struct {
                size_t lines; /* in the file; one is added */
                unsigned matter_from,
                        matter_to; /* these are distrusted, the others have passed their trial */
                unsigned gone_from, gone_to; /* these are removed, and only these */
        } table[] = {
                {LINES - 1, 0, 0, 0, 0},
                {LINES, 0, 0, 0, 1},
                {LINES, 0, 3, 3, 4},
                {LINES + 9, 0, 3, 3, 13},
                {LINES + 9, 5, LINES + 9, 0, 5}, /* and the new one, which has only passed, and five
                                                    that matter */
                {LINES, 0, LINES, 0, 0},         /* the new one */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                static char text[(LINES + 9) * 160];
                struct facts f = disk("NEW");
                struct history h;
                size_t n = 0, at = 0, gone = 0;
                struct tree t;

                tree_make(&t);
                for (unsigned j = 0; j < table[i].lines; j++)
                        at += (size_t) snprintf(
                                text + at, sizeof(text) - at,
                                "1209:5a5a:S%03u@0000:00:14.0/ss/1=state=%s firmware=0100 kernel=6 boot=- date=- "
                                "reason=\n",
                                j,
                                j >= table[i].matter_from && j < table[i].matter_to ? "distrusted"
                                                                                    : "passed");
                tree_write(&t, "etc/uasd/history", text);
                assert_int_equal(
                        history_write(&t.roots, &f, &(struct history){.state = HISTORY_PASSED}), 0);
                assert_int_equal(history_each(&t.roots, count, &n), 0);
                assert_int_equal(n, table[i].lines + 1 < LINES ? table[i].lines + 1 : LINES);
                for (unsigned j = 0; j < table[i].lines; j++)
                        gone += !there(&t, j);
                for (unsigned j = table[i].gone_from; j < table[i].gone_to; j++)
                        if (there(&t, j))
                                fail_msg("row %zu: %u is there", i, j);
                assert_int_equal(history_read(&t.roots, &f, &h), i < 4);
                assert_int_equal(gone, table[i].lines + 1 - n - (i >= 4));
                tree_remove(&t);
        }
}

static int stop(const char *key, const struct history *h, void *data)
{
        ++*(size_t *) data;
        return -EBUSY;
}

static void test_each(void **state)
{
        struct tree t;
        size_t n = 0;

        tree_make(&t);
        assert_int_equal(history_each(&t.roots, stop, &n), 0);
        write_state(&t, "now\n", "ONE", (struct history){.state = HISTORY_PASSED});
        write_state(&t, "now\n", "TWO", (struct history){.state = HISTORY_PASSED});
        assert_int_equal(history_each(&t.roots, stop, &n), -EBUSY);
        assert_int_equal(n, 1);
        tree_write(&t, "etc/uasd/history", "generation=9\n1209:5a5a:ONE@x=nonsense\n");
        assert_int_equal(history_each(&t.roots, stop, &n), 0);
        tree_remove(&t);
}

/* A key that no disk can have is skipped. */
static void test_long_key(void **state)
{
        static char text[2 * HISTORY_KEY_MAX + 256];

        for (size_t length = HISTORY_KEY_MAX - 1; length <= HISTORY_KEY_MAX; length++) {
                struct tree t;
                size_t n = 0;

                tree_make(&t);
                memset(text, 'k', length);
                (void) snprintf(text + length, sizeof(text) - length,
                                "=state=passed firmware=0100 kernel=6 boot=- date=- reason=\n");
                tree_write(&t, "etc/uasd/history", text);
                assert_int_equal(history_each(&t.roots, count, &n), 0);
                assert_int_equal(n, length < HISTORY_KEY_MAX);
                tree_remove(&t);
        }
}

static unsigned synced;

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
        synced++;
        return 0;
}

/* Both copies survive a power cut: the files, and their names. */
static void test_durable(void **state)
{
        struct facts f = disk("ONE");
        struct tree t;

        tree_make(&t);
        synced = 0;
        assert_int_equal(history_write(&t.roots, &f, &(struct history){.state = HISTORY_TRIAL}), 0);
        assert_int_equal(synced, 4);
        assert_int_equal(history_forget_id(&t.roots, "1209:5a5a:TWO"),
                         -ENOENT); /* nothing changes, so nothing is written */
        assert_int_equal(synced, 4);
        tree_remove(&t);
}

/* A record has the firmware, the kernel, the boot and the time. It can be put back as it was. */
static void test_record(void **state)
{
        struct facts f = disk("ONE");
        struct history h, before;
        struct tree t;

        tree_make(&t);
        f.bcd = 0x114;
        tree_boot_kernel(&t, "6.1.0");
        tree_write(&t, "proc/sys/kernel/random/boot_id", "now\n");
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        assert_int_equal(history_write(&t.roots, &f, &(struct history){.state = HISTORY_TRIAL}), 0);
        assert_int_equal(history_read(&t.roots, &f, &before), 1);
        assert_int_equal(before.firmware, 0x114);
        assert_string_equal(before.kernel, "6.1.0");
        assert_string_equal(before.boot, "now");
        assert_int_equal(strlen(before.date), strlen("2026-11-24T12:00:00Z"));
        tree_boot_kernel(&t, "6.2.0");
        assert_int_equal(history_write(&t.roots, &f, &(struct history){.state = HISTORY_PASSED}),
                         0);
        assert_int_equal(history_read(&t.roots, &f, &h), 1);
        assert_int_equal(h.state, HISTORY_PASSED);
        assert_string_equal(h.kernel, "6.2.0");
        assert_int_equal(history_put_back(&t.roots, &f, &before), 0);
        assert_int_equal(history_read(&t.roots, &f, &h), 1);
        assert_int_equal(h.state, HISTORY_TRIAL);
        assert_string_equal(h.kernel, "6.1.0");
        assert_int_equal(history_put_back(&t.roots, &f, NULL), 0);
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        assert_int_equal(history_write(&t.roots, &f, &before), 0);
        assert_int_equal(history_write(&t.roots, &f, NULL), 0);
        assert_int_equal(history_read(&t.roots, &f, &h), 0);
        /* The later one of two lines counts, and a line that is none of ours is skipped. */
        tree_write(
                &t, "etc/uasd/history",
                "generation=99\n1209:5a5a:ONE@0000:00:14.0/ss/1=state=trial firmware=0100 kernel=6 boot=- date=- reason=\n"
                "1209:5a5a:ONE@0000:00:14.0/ss/1=state=passed firmware=0100 kernel=6 boot=- date=- reason=\n"
                "1209:5a5a:ONE@0000:00:14.0/ss/1=nonsense\n");
        assert_int_equal(history_read(&t.roots, &f, &h), 1);
        assert_int_equal(h.state, HISTORY_PASSED);
        tree_remove(&t);
}

/* The end of one trial, and nothing in an initramfs, where it would be lost. */
static void test_end_one(void **state)
{
        struct facts f = disk("ONE");
        struct tree t;

        tree_make(&t);
        write_state(&t, "now\n", "ONE", (struct history){.state = HISTORY_TRIAL});
        write_state(&t, "now\n", "ONE2", (struct history){.state = HISTORY_TRIAL});
        tree_write(&t, "etc/initrd-release", "");
        assert_int_equal(history_end_trials(&t.roots, &f), -EROFS);
        tree_unlink(&t, "etc/initrd-release");
        assert_state(&t, "ONE", HISTORY_TRIAL);
        assert_int_equal(history_end_trials(&t.roots, &f), 0);
        assert_state(&t, "ONE", HISTORY_ENDED);
        assert_state(&t, "ONE2", HISTORY_TRIAL);
        tree_remove(&t);
}

/* The newer one of both files counts. One of them is enough. */
static void test_copies(void **state)
{
#define LINE(state)                                                                                \
        "1209:5a5a:ONE@0000:00:14.0/ss/1=state=" state                                             \
        " firmware=0100 kernel=6 boot=- date=- reason=\n"
        static const struct {
                const char *etc, *var;
                bool passed;
        } table[] = {
                {"generation=3\n" LINE("trial"), "generation=4\n" LINE("passed"), true},
                {"generation=4\n" LINE("trial"), "generation=4\n" LINE("passed"), false},
                {"generation=5\n" LINE("trial"), "generation=4\n" LINE("passed"), false},
                {NULL, LINE("passed"), true},
                {LINE("trial"), NULL, false},
                {"generation=x\n" LINE("trial"), "generation=1\n" LINE("passed"), true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                tree_make(&t);
                if (table[i].etc)
                        tree_write(&t, "etc/uasd/history", table[i].etc);
                if (table[i].var)
                        tree_write(&t, "var/lib/uasd/history", table[i].var);
                assert_state(&t, "ONE", table[i].passed ? HISTORY_PASSED : HISTORY_TRIAL);
                write_state(&t, "now\n", "TWO", (struct history){.state = HISTORY_PASSED});
                assert_state(&t, "ONE", table[i].passed ? HISTORY_PASSED : HISTORY_TRIAL);
                assert_non_null(strstr(tree_read(&t, "etc/uasd/history"), "\ngeneration="));
                assert_non_null(strstr(tree_read(&t, "var/lib/uasd/history"), "TWO@"));
                tree_remove(&t);
        }
}

/* Without /var, or with one that cannot be written, the other copy is enough. Without both there is
 * an error. */
static void test_one_copy(void **state)
{
        struct facts f = disk("ONE");
        struct tree t;

        for (unsigned lacks = 0; lacks < 4; lacks++) {
                int r;

                tree_make(&t);
                if (lacks & 1)
                        tree_write(&t, "var/lib", "");
                if (lacks & 2)
                        tree_write(&t, "etc/uasd", "");
                r = history_write(&t.roots, &f, &(struct history){.state = HISTORY_PASSED});
                if (lacks < 3)
                        assert_int_equal(r, 0);
                else
                        assert_true(r < 0);
                assert_int_equal(faccessat(t.roots.etc, "uasd/history", F_OK, 0) == 0,
                                 !(lacks & 2));
                assert_int_equal(faccessat(t.roots.var, "lib/uasd/history", F_OK, 0) == 0,
                                 !(lacks & 1));
                tree_remove(&t);
        }
}

/* Only with the record of an initramfs that is older than the distrust. */
static void test_old_initramfs(void **state)
{
        static const struct {
                const char *initramfs; /* NULL: no record */
                bool distrusted, old;
        } table[] = {
                {NULL, true, false},
                {LINE("passed"), true, true},
                {LINE("passed"), false, false},
                {LINE("distrusted"), true, false},
                {"", true, true},
        };
        struct tree t;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts f = disk("ONE");

                tree_make(&t);
                tree_boot_kernel(&t, "6");
                f.distrusted = table[i].distrusted;
                f.bcd = 0x100;
                if (table[i].initramfs)
                        tree_write(&t, "run/uasd/initramfs", table[i].initramfs);
                if (history_initramfs_old(&t.roots, &f) != table[i].old)
                        fail_msg("row %zu", i);
                tree_remove(&t);
        }
}

/* The read that fails; 0: none. */
static unsigned failing, n_reads;

ssize_t __real_read(int fd, void *ret, size_t size);
ssize_t __wrap_read(int fd, void *ret, size_t size);
ssize_t __wrap_read(int fd, void *ret, size_t size)
{
        if (++n_reads == failing) {
                errno = EIO;
                return -1;
        }
        return __real_read(fd, ret, size);
}

/* A record has the id of the boot, or none: never a part of the file with its end of line. */
static void test_failing_read(void **state)
{
        struct facts f = disk("ONE");
        unsigned without = 0, reads = 0;

        for (unsigned nth = 1; nth == 1 || reads >= nth - 1; nth++) {
                const char *text;
                struct history h = {};
                struct tree t;
                int r;

                tree_make(&t);
                tree_write(&t, "proc/sys/kernel/random/boot_id", "now\n");
                n_reads = 0;
                failing = nth;
                r = history_write(&t.roots, &f, &(struct history){.state = HISTORY_TRIAL});
                reads = n_reads;
                failing = 0;
                if (r >= 0) {
                        assert_int_equal(history_read(&t.roots, &f, &h), 1);
                        if (!streq(h.boot, "-"))
                                assert_string_equal(h.boot, "now");
                        text = tree_read(&t, "etc/uasd/history");
                        assert_non_null(text);
                        assert_null(strstr(text, "boot=now\n"));
                        without += streq(h.boot, "-");
                }
                tree_remove(&t);
        }
        assert_true(without > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_end_trials),   cmocka_unit_test(test_full_disk),
                cmocka_unit_test(test_forget),       cmocka_unit_test(test_too_many),
                cmocka_unit_test(test_each),         cmocka_unit_test(test_record),
                cmocka_unit_test(test_end_one),      cmocka_unit_test(test_copies),
                cmocka_unit_test(test_one_copy),     cmocka_unit_test(test_old_initramfs),
                cmocka_unit_test(test_long_key),     cmocka_unit_test(test_durable),
                cmocka_unit_test(test_failing_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
