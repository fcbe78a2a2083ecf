/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts that must be the same under both drivers: texts are compared, and read from a file in
 * place of a disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/block/claim.h"

#define LUN0 "LUN0_SIZE=100\nLUN0_SECTOR=512\n"
#define PROTECTED0 "LUN0_PROTECTED=1\n"
#define REST0 "LUN0_HEAD=a\nLUN0_TAIL=b\nLUN0_PTTYPE=gpt\n"
#define LUN1 "LUN1_SIZE=200\nLUN1_SECTOR=512\n"
#define REST1 "LUN1_HEAD=c\nLUN1_TAIL=d\n"
#define LUN11 "LUN11_SIZE=200\nLUN11_SECTOR=512\nLUN11_HEAD=c\n"

static const struct {
        const char *before, *after, *difference; /* NULL: the same */
} rows[] = {
        {"", "", NULL},
        {LUN0 REST0, LUN0 REST0, NULL},
        {LUN0 REST0 LUN1 REST1, LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0, LUN0 "LUN0_HEAD=z\n", "before LUN0_HEAD=a, now LUN0_HEAD=z"},
        {LUN0 REST0, LUN0, "before LUN0_HEAD=a, now nothing"},
        {LUN0, LUN0 REST0, "before nothing, now LUN0_HEAD=a"},
        {LUN0 REST0, LUN0 REST0 LUN1 REST1, "before nothing, now LUN1_SIZE=200"},
        /* A part that could not be read is not compared. The other parts are. */
        {LUN0 "LUN0_UNREAD=1\n", LUN0 REST0, NULL},
        {LUN0 "LUN0_UNREAD=1\n" LUN1 REST1, LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0 LUN1 "LUN1_UNREAD=1\n", LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 "LUN0_UNREAD=1\n", "LUN0_SIZE=101\nLUN0_SECTOR=512\n" REST0,
         "before LUN0_SIZE=100, now LUN0_SIZE=101"},
        {LUN0 "LUN0_UNREAD=1\n" LUN1 REST1, LUN0 REST0 LUN1 "LUN1_HEAD=z\n",
         "before LUN1_HEAD=c, now LUN1_HEAD=z"},
        {LUN0 "LUN0_UNREAD=1\n", LUN0 REST0 LUN1 REST1, "before nothing, now LUN1_SIZE=200"},
        {LUN1 "LUN1_UNREAD=1\n" LUN11, LUN1 REST1 LUN11, NULL},
        {LUN1 "LUN1_UNREAD=1\n", LUN1 REST1 LUN11, "before nothing, now LUN11_SIZE=200"},
        /* a card was put into an empty slot, or taken out */
        {LUN0 REST0 "LUN1_UNREAD=1\n", LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0 LUN1 REST1, LUN0 REST0 "LUN1_UNREAD=1\n",
         "before LUN1_SIZE=200, now LUN1_UNREAD=1"},
        /* A disk that could be written must be writable after the switch. */
        {LUN0 PROTECTED0 REST0, LUN0 PROTECTED0 REST0, NULL},
        {LUN0 PROTECTED0 REST0, LUN0 REST0, NULL},
        {LUN0 PROTECTED0 "LUN0_UNREAD=1\n", LUN0 REST0, NULL},
        {LUN0 "LUN0_UNREAD=1\n", LUN0 PROTECTED0 REST0, NULL},
        {LUN0 REST0, LUN0 PROTECTED0 REST0, "before LUN0_HEAD=a, now LUN0_PROTECTED=1"},
        {LUN1 REST1, LUN1 "LUN1_PROTECTED=1\n" REST1, "before LUN1_HEAD=c, now LUN1_PROTECTED=1"},
        /* After the switch everything must be readable. */
        {LUN0 REST0, LUN0 "LUN0_UNREAD=1\n", "before LUN0_HEAD=a, now LUN0_UNREAD=1"},
};

static void test_same(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char difference[160] = "";

                assert_int_equal(fingerprint_same(rows[i].before, rows[i].after, difference,
                                                  sizeof(difference)),
                                 !rows[i].difference);
                if (rows[i].difference)
                        assert_string_equal(difference, rows[i].difference);
        }
}

static void test_same_sizes(void **state)
{
        assert_true(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 "LUN0_HEAD=z\n" LUN1 REST1));
        assert_false(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 "LUN0_HEAD=z\n"
                                                                        "LUN1_SIZE=201\n" REST1));
        assert_false(fingerprint_same_sizes(LUN0 REST0, "LUN0_SIZE=100\nLUN0_SECTOR=4096\n" REST0));
        assert_false(fingerprint_same_sizes("LUN0_SIZE=100\n", "LUN0_SIZE=1000\n"));
        /* A card that was taken out has no size. */
        assert_true(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 REST0 "LUN1_UNREAD=1\n"));
        assert_true(fingerprint_same_sizes(LUN1 REST1, LUN11));
}

/* ---- a file is the disk ---- */

#define SAMPLE 131072
#define PART 1048576 /* where the partition begins */

static uint64_t size;
static long long broken = -1; /* this byte cannot be read */
static int no_ioctl;          /* the number of the ioctl that fails, from 1; 0: none */
static bool protected;
static bool slow; /* a read is interrupted, or returns only a part */
static bool
        old; /* the page cache has what was on the disk before a write through a partition's node */

int __wrap_ioctl(int fd, unsigned long request, void *argument);
ssize_t __real_pread64(int fd, void *data, size_t n, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t offset);

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
        if (no_ioctl > 0 && --no_ioctl == 0) {
                errno = ENXIO;
                return -1;
        }
        if (request == BLKGETSIZE64)
                memcpy(argument, &size, sizeof(size));
        else
                *(int *) argument = request == BLKROGET ? protected : 512;
        return 0;
}

int __wrap_posix_fadvise64(int fd, off_t offset, off_t n, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t n, int advice)
{
        assert_true(offset == 0 && n == 0); /* all of the disk */
        old = old && advice != POSIX_FADV_DONTNEED;
        return 0;
}

ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t offset)
{
        static bool interrupted;

        interrupted = slow && !interrupted;
        if (interrupted || (broken >= offset && broken < offset + (off_t) n)) {
                errno = interrupted ? EINTR : EIO;
                return -1;
        }
        if (old) {
                memset(data, 0, n);
                return (ssize_t) n;
        }
        return __real_pread64(fd, data, slow && n > 10000 ? 10000 : n, offset);
}

/* With _FORTIFY_SOURCE, where the size of the buffer is known. */
ssize_t __wrap___pread64_chk(int fd, void *data, size_t n, off_t offset, size_t room);
ssize_t __wrap___pread64_chk(int fd, void *data, size_t n, off_t offset, size_t room)
{
        assert_true(n <= room);
        return __wrap_pread64(fd, data, n, offset);
}

static int disk(uint64_t bytes)
{
        char path[] = "/tmp/uasd-fingerprint-XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(ftruncate(fd, (off_t) bytes), 0);
        size = bytes;
        return fd;
}

static void put(int fd, uint64_t at, const void *bytes, size_t n)
{
        assert_int_equal(pwrite(fd, bytes, n, (off_t) at), n);
}

static struct unread unread;

/* Returns the text, or NULL if the result is this error. */
static char *of(int fd, bool partly, int error)
{
        struct claimed nodes[] = {{.fd = fd, .lun = 3, .whole = true},
                                  {.fd = -1, .lun = 3, .name = "a partition"},
                                  {.fd = -1, .whole = true, .name = "beyond the last"}};
        char *text = NULL;

        unread = (struct unread){};
        assert_int_equal(fingerprint_read(&(struct claim){.nodes = nodes, .n = 2, .inotify = -1},
                                          partly, &text, &unread),
                         error);
        assert_true((text != NULL) == (error == 0));
        return text;
}

static void assert_text(int fd, const char *expected)
{
        _cleanup_free_ char *text = of(fd, false, 0);

        assert_string_equal(text, expected);
}

/* Published values of FNV-1a. */
static void test_small(void **state)
{
        int fd = disk(6);

        put(fd, 0, "foobar", 6);
        assert_text(
                fd,
                "LUN3_SIZE=6\nLUN3_SECTOR=512\nLUN3_HEAD=85944171f73967e8\nLUN3_TAIL=85944171f73967e8\n");
        slow = true;
        assert_text(
                fd,
                "LUN3_SIZE=6\nLUN3_SECTOR=512\nLUN3_HEAD=85944171f73967e8\nLUN3_TAIL=85944171f73967e8\n");
        slow = false;
        old = true;
        assert_text(
                fd,
                "LUN3_SIZE=6\nLUN3_SECTOR=512\nLUN3_HEAD=85944171f73967e8\nLUN3_TAIL=85944171f73967e8\n");
        protected = true;
        assert_text(
                fd,
                "LUN3_SIZE=6\nLUN3_SECTOR=512\nLUN3_PROTECTED=1\nLUN3_HEAD=85944171f73967e8\nLUN3_TAIL=85944171f73967e8\n");
        protected = false;
        (void) close(fd);
        fd = disk(1);
        put(fd, 0, "a", 1);
        assert_text(
                fd,
                "LUN3_SIZE=1\nLUN3_SECTOR=512\nLUN3_HEAD=af63dc4c8601ec8c\nLUN3_TAIL=af63dc4c8601ec8c\n");
        size = 0;
        assert_text(fd, "LUN3_UNREAD=1\n");
        (void) close(fd);
}

/* Only the first and the last bytes count. */
static void test_ends(void **state)
{
        static const struct {
                uint64_t at, bytes;
                bool head, tail;
        } table[] = {
                {0, 400000, true, false},
                {SAMPLE - 1, 400000, true, false},
                {SAMPLE, 400000, false, false},
                {400000 - SAMPLE - 1, 400000, false, false},
                {400000 - SAMPLE, 400000, false, true},
                {399999, 400000, false, true},
                {0, SAMPLE, true, true},
                {SAMPLE - 1, SAMPLE, true, true},
                {0, SAMPLE + 1, true, false},
                {1, SAMPLE + 1, true, true},
                {SAMPLE, SAMPLE + 1, false, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int fd = disk(table[i].bytes);
                _cleanup_free_ char *before = of(fd, false, 0), *after = NULL;
                char difference[160] = "";
                bool same;

                put(fd, table[i].at, "x", 1);
                slow = i % 2 > 0;
                after = of(fd, false, 0);
                slow = false;
                same = fingerprint_same(before, after, difference, sizeof(difference));
                if (same == (table[i].head || table[i].tail) ||
                    (table[i].head && !strstr(difference, "HEAD")) ||
                    (table[i].tail &&
                     strncmp(strstr(before, "TAIL"), strstr(after, "TAIL"), 21) == 0) ||
                    (!table[i].tail &&
                     strncmp(strstr(before, "TAIL"), strstr(after, "TAIL"), 21) != 0))
                        fail_msg("row %zu: %s", i, difference);
                assert_true(fingerprint_same_sizes(before, after));
                (void) close(fd);
        }
}

/* A disk that does not answer is unknown: an error after the switch, and not compared if it is so
 * before. */
static void test_broken(void **state)
{
        static const long long places[] = {0, SAMPLE - 1, 400000 - SAMPLE, 399999};
        int fd = disk(400000);

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *text = NULL;

                broken = places[i];
                assert_null(of(fd, false, -EIO));
                assert_true(unread.samples && unread.n == 1 && unread.lun == 3);
                assert_int_equal(unread.at[0], places[i] < SAMPLE ? 0 : 400000 - SAMPLE);
                text = of(fd, true, 0);
                assert_false(unread.samples);
                assert_string_equal(text, "LUN3_SIZE=400000\nLUN3_SECTOR=512\nLUN3_UNREAD=1\n");
        }
        broken = -1;
        size = 400001; /* more than it has */
        assert_null(of(fd, false, -EIO));
        for (int i = 1; i <= 3; i++) {
                no_ioctl = i;
                assert_null(of(fd, true, -ENXIO));
        }
        no_ioctl = 0;
        (void) close(fd);
}

static bool has(const char *text, const char *line)
{
        const char *found = strstr(text, line);

        return found && (found == text || found[-1] == '\n') && found[strlen(line)] == '\n';
}

/* A type-0x83 partition at 1 MiB, 1 MiB; an extended one at 2 MiB, 1 MiB. */
static int disk_with_table(uint64_t bytes)
{
        static const unsigned char table[] = {0,    0,    0, 0, 0x83, 0,    0, 0, 0x00, 0x08, 0, 0,
                                              0x00, 0x08, 0, 0, 0,    0,    0, 0, 0x05, 0,    0, 0,
                                              0x00, 0x10, 0, 0, 0x00, 0x08, 0, 0};
        int fd = disk(bytes);

        put(fd, 440, "\x78\x56\x34\x12", 4);
        put(fd, 446, table, sizeof(table));
        put(fd, 510, "\x55\xaa", 2);
        return fd;
}

static void test_table(void **state)
{
        static const char *const lines[] = {"LUN3_PTTYPE=dos", "LUN3_PTUUID=12345678",
                                            "LUN3_PART1_RANGE=1048576+1048576",
                                            "LUN3_PART2_RANGE=2097152+1048576"};
        int fd = disk_with_table(4 * PART);
        char *text = of(fd, false, 0);

        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                assert_true(has(text, lines[i]));
        assert_non_null(strstr(text, "LUN3_PART1_HEAD="));
        assert_non_null(strstr(text, "LUN3_PART1_TAIL="));
        assert_null(strstr(text, "PART2_HEAD")); /* there are only more partitions */
        free(text);
        (void) close(fd);
        /* the table of a striped RAID, on its first disk */
        fd = disk_with_table(PART + 4096);
        text = of(fd, false, 0);
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                assert_true(has(text, lines[i]));
        assert_non_null(strstr(text, "LUN3_PART1_HEAD="));
        free(text);
        assert_int_equal(ftruncate(fd, PART), 0);
        size = PART;
        text = of(fd, false, 0);
        assert_true(has(text, lines[2]));
        assert_null(strstr(text, "LUN3_PART1_HEAD="));
        free(text);
        (void) close(fd);
}

/* The places where file systems, LUKS and RAID have their names. */
static void test_names(void **state)
{
        static const struct {
                uint64_t at;
                const char *differs;
        } table[] = {
                {0x400 + 0x38, "HEAD"},   /* ext2 to ext4 */
                {0x10000 + 0x40, "HEAD"}, /* btrfs */
                {0x4000, "HEAD"},         /* ZFS */
                {PART - 0x20000, "TAIL"}, /* md, version 0.90, if the size is no multiple of 64 KiB
                                           */
                {PART - 0x2000, "TAIL"},  {SAMPLE, NULL}, /* md, version 1.0 */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                for (int whole = 0; whole < 2; whole++) {
                        int fd = whole ? disk(PART) : disk_with_table(4 * PART);
                        _cleanup_free_ char *before = of(fd, false, 0), *after = NULL;
                        char difference[160] = "", key[32];

                        put(fd, table[i].at + (whole ? 0 : PART), "name", 4);
                        after = of(fd, false, 0);
                        (void) snprintf(key, sizeof(key), "LUN3_%s%s=", whole ? "" : "PART1_",
                                        table[i].differs ?: "");
                        assert_int_equal(
                                fingerprint_same(before, after, difference, sizeof(difference)),
                                !table[i].differs);
                        if (table[i].differs && !strstr(difference, key))
                                fail_msg("row %zu: %s", i, difference);
                        (void) close(fd);
                }
}

/* Every bit of a sample counts. */
static void test_bits(void **state)
{
        int fd = disk(SAMPLE);
        _cleanup_free_ char *before = of(fd, false, 0);

        for (size_t at = 0; at < 24; at++)
                for (int bit = 0; bit < 8; bit++) {
                        _cleanup_free_ char *after = NULL;
                        unsigned char byte = (unsigned char) (1 << bit);

                        put(fd, at, &byte, 1);
                        after = of(fd, false, 0);
                        put(fd, at, "", 1);
                        assert_string_not_equal(before, after);
                }
        (void) close(fd);
}

/* A line of a bridge's data path is bad: the same bit differs in many words. */
static void test_same_bits(void **state)
{
        unsigned char data[4096] = {0};
        int fd = disk(SAMPLE);
        _cleanup_free_ char *before = of(fd, false, 0);

        for (size_t byte = 0; byte < 8; byte++)
                for (int bit = 0; bit < 8; bit++)
                        for (size_t step = 8; step <= sizeof(data) / 2; step *= 2) {
                                _cleanup_free_ char *after = NULL;

                                memset(data, 0, sizeof(data));
                                for (size_t at = byte; at < sizeof(data); at += step)
                                        data[at] = (unsigned char) (1 << bit);
                                put(fd, 0, data, sizeof(data));
                                after = of(fd, false, 0);
                                assert_string_not_equal(before, after);
                        }
        (void) close(fd);
}

/* A place in a partition that cannot be read makes the disk unknown. */
static void test_broken_partition(void **state)
{
        int fd = disk_with_table(4 * PART);
        char *text;

        for (int i = 0; i < 2; i++) {
                broken = i ? 2 * PART - 1 : PART;
                assert_null(of(fd, false, -EIO));
                assert_true(unread.samples && unread.n == 1 && unread.lun == 3);
                assert_int_equal(unread.at[0], i ? 2 * PART - SAMPLE : PART);
                text = of(fd, true, 0);
                assert_false(unread.samples);
                assert_string_equal(text, "LUN3_SIZE=4194304\nLUN3_SECTOR=512\nLUN3_UNREAD=1\n");
                free(text);
        }
        broken = -1;
        (void) close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same),      cmocka_unit_test(test_same_sizes),
                cmocka_unit_test(test_small),     cmocka_unit_test(test_ends),
                cmocka_unit_test(test_broken),    cmocka_unit_test(test_table),
                cmocka_unit_test(test_names),     cmocka_unit_test(test_bits),
                cmocka_unit_test(test_same_bits), cmocka_unit_test(test_broken_partition),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
