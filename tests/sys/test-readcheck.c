/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reads that test a disk before it is mounted. The test plays the kernel's asynchronous I/O. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/block/claim.h"
#include "tree.h"

#define READ_SIZE 4096U
#define DEPTH "sys/block/sda/device/queue_depth"

/* The kernel's part. */
static uint64_t size;
static int setup, setup_depth, no_ioctl;
static bool few;      /* it takes one read less */
static long one_read; /* the result of the last read of a round; 0: all of it */
static long alone;    /* the result of the read without others in the queue */
static int events;    /* the result of io_getevents() if it is no event: 0, or -errno once */

/* The calls of uasd. */
static uint64_t offsets[256];
static size_t n_offsets, taken, destroyed, at_once, n_alone;
static unsigned char *buffers;
static bool direct;

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_io_setup(int depth, io_context_t *ret);
int __wrap_io_destroy(io_context_t ctx);
int __wrap_io_submit(io_context_t ctx, long n, struct iocb *list[]);
int __wrap_io_getevents(io_context_t ctx, long least, long most, struct io_event *ret,
                        struct timespec *timeout);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
ssize_t __wrap_pread64(int fd, void *buffer, size_t n, off_t offset);

/* Not every file system has O_DIRECT. */
int __wrap_open64(const char *path, int flags, ...)
{
        direct = flags & O_DIRECT;
        return __real_open64(path, flags & ~O_DIRECT);
}

int __wrap_io_setup(int depth, io_context_t *ret)
{
        setup_depth = depth;
        if (setup >= 0)
                *ret = (io_context_t) &setup;
        return setup;
}

int __wrap_io_destroy(io_context_t ctx)
{
        assert_ptr_equal(ctx, &setup);
        destroyed++;
        return 0;
}

int __wrap_io_submit(io_context_t ctx, long n, struct iocb *list[])
{
        assert_ptr_equal(ctx, &setup);
        assert_true(direct);
        at_once = (size_t) n;
        buffers = list[0]->u.c.buf;
        for (long i = 0; i < n; i++) {
                assert_int_equal(list[i]->aio_lio_opcode, IO_CMD_PREAD);
                assert_int_equal(list[i]->u.c.nbytes, READ_SIZE);
                assert_int_equal((uintptr_t) list[i]->u.c.buf % READ_SIZE, 0);
                for (long j = 0; j < i; j++)
                        assert_ptr_not_equal(list[i]->u.c.buf, list[j]->u.c.buf);
                offsets[n_offsets++] = (uint64_t) list[i]->u.c.offset;
        }
        return (int) n - few;
}

ssize_t __wrap_pread64(int fd, void *buffer, size_t n, off_t offset)
{
        assert_int_equal(n, READ_SIZE);
        assert_int_equal((uintptr_t) buffer % READ_SIZE, 0);
        assert_int_equal(offset, offsets[n_offsets - 1]); /* the one that has failed */
        n_alone++;
        errno = alone < 0 ? (int) -alone : 0;
        return alone < 0 ? -1 : alone;
}

/* The answers come one by one. */
int __wrap_io_getevents(io_context_t ctx, long least, long most, struct io_event *ret,
                        struct timespec *timeout)
{
        int r = events;

        assert_ptr_equal(ctx, &setup);
        assert_true(least == 1 && most >= 1);
        assert_in_range(timeout->tv_sec * USEC_PER_SEC + (uint64_t) timeout->tv_nsec / 1000, 0,
                        10 * USEC_PER_SEC);
        if (r != 1) {
                events = 1;
                return r;
        }
        *ret = (struct io_event){.data = buffers + taken % at_once * READ_SIZE, .res = READ_SIZE};
        if (++taken == n_offsets && one_read)
                ret->res = (unsigned long) one_read;
        return 1;
}

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
        assert_int_equal(request, BLKGETSIZE64);
        memcpy(argument, &size, sizeof(size));
        errno = no_ioctl;
        return no_ioctl ? -1 : 0;
}

static struct unread unread, open_reads;

static int check(struct tree *t, usec_t usec)
{
        struct claimed nodes[] = {{.fd = -1, .name = "sda1"},
                                  {.fd = openat(t->roots.dev, "sda", O_RDONLY | O_CLOEXEC),
                                   .name = "sda",
                                   .whole = true},
                                  {.fd = -1, .whole = true, .name = "beyond the last"}};
        int r;

        n_offsets = taken = destroyed = n_alone = 0;
        unread = (struct unread){};
        r = trial_reads(&t->roots, &(struct claim){.nodes = nodes, .n = 2, .inotify = -1},
                        awake_in(usec), &unread);
        assert_true(r != 0 || !unread_copy(&unread, &open_reads));
        (void) close(nodes[1].fd);
        return r;
}

static void make(struct tree *t)
{
        tree_make(t);
        tree_write(t, "dev/sda", "");
        tree_write(t, DEPTH, "30\n");
        size = 1 << 30;
        setup = no_ioctl = 0;
        few = false;
        one_read = 0;
        events = 1;
}

static int by_offset(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* As many reads at once as the queue takes, three times, each at another place, all over the disk.
 */
static void test_places(void **state)
{
        static const struct {
                const char *depth;
                unsigned reads;
        } table[] = {{"30\n", 30}, {"1\n", 1},   {"0\n", 1},   {"\n", 1},
                     {"63\n", 63}, {"64\n", 64}, {"65\n", 64}, {"4294967297\n", 64}};
        struct tree t;

        make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                tree_write(&t, DEPTH, table[i].depth);
                assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
                assert_int_equal(setup_depth, table[i].reads);
                assert_int_equal(at_once, table[i].reads);
                assert_int_equal(n_offsets, 3 * table[i].reads);
                assert_int_equal(destroyed,
                                 0); /* all reads are answered, and the kernel would wait for RCU */
                qsort(offsets, n_offsets, sizeof(*offsets), by_offset);
                assert_int_equal(offsets[0], 0);
                for (size_t j = 0; j < n_offsets; j++) {
                        uint64_t end = j + 1 < n_offsets ? offsets[j + 1] : size,
                                 even = size / n_offsets;

                        assert_int_equal(offsets[j] % READ_SIZE, 0);
                        assert_in_range(end - offsets[j], even - 2 * READ_SIZE,
                                        even + 2 * READ_SIZE);
                }
        }
        tree_remove(&t);
}

/* An empty slot, or a driver CD. */
static void test_small(void **state)
{
        struct tree t;

        make(&t);
        size = 30 * READ_SIZE;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        assert_int_equal(n_offsets, 90);
        for (size_t i = 0; i < n_offsets; i++)
                assert_true(offsets[i] + READ_SIZE <= size);
        for (size = 30 * READ_SIZE; size < 120 * READ_SIZE; size += 512) {
                assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
                for (size_t i = 0; i < n_offsets; i++)
                        assert_true(offsets[i] + READ_SIZE <= size);
        }
        size = 30 * READ_SIZE - 1;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        assert_int_equal(n_offsets, 0);
        size = 0;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        assert_int_equal(n_offsets, 0);
        tree_remove(&t);
}

static void test_errors(void **state)
{
        struct tree t;

        make(&t);
        one_read = -EILSEQ;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EILSEQ);
        assert_int_equal(n_offsets, 30);
        assert_int_equal(taken, 30); /* the answers after the error, too */
        assert_int_equal(destroyed, 1);
        assert_true(unread_copy(&unread, &open_reads) && open_reads.n == 1 &&
                    open_reads.at[0] == offsets[29]);
        one_read = alone = -ENODATA; /* a bad sector, which the bridge has reported */
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        assert_int_equal(n_offsets, 90);
        assert_int_equal(n_alone, 3);
        alone = READ_SIZE; /* the sector is good: the bridge fails at depth */
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EIO);
        assert_int_equal(n_alone, 1);
        alone = -EREMOTEIO;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EREMOTEIO);
        one_read = READ_SIZE - 512;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EIO);
        one_read = 0;
        events = -EINTR;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        events = -EFAULT;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EFAULT);
        few = true;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -EAGAIN);
        few = false;
        setup = -ENOMEM;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -ENOMEM);
        assert_int_equal(n_offsets, 0);
        assert_int_equal(destroyed, 0);
        setup = -ENOSYS; /* a kernel without CONFIG_AIO: that is no fault of the bridge */
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), 0);
        assert_int_equal(n_offsets, 0);
        no_ioctl = ENXIO;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -ENXIO);
        tree_unlink(&t, "dev/sda");
        assert_true(check(&t, 10 * USEC_PER_SEC) < 0);
        tree_remove(&t);
}

/* The kernel may still write to the buffers. uasd neither frees them nor waits. */
static void test_hangs(void **state)
{
        struct tree t;

        make(&t);
        events = 0;
        assert_int_equal(check(&t, 10 * USEC_PER_SEC), -ETIMEDOUT);
        assert_int_equal(destroyed, 0);
        assert_true(unread_copy(&unread, &open_reads) && open_reads.n == 30);
        for (size_t i = 0; i < 30; i++)
                assert_int_equal(open_reads.at[i], offsets[i]);
        memset(buffers, 0, 30 * READ_SIZE);
        free(buffers);
        buffers = NULL;
        /* The time is over before the first answer. */
        events = 1;
        assert_int_equal(check(&t, 0), -ETIMEDOUT);
        free(buffers);
        tree_remove(&t);
}

/* After a roll-back: only those that failed, each alone. */
static void test_again(void **state)
{
        struct claimed node = {.lun = 2, .whole = true, .name = "sda"};
        const struct claim c = {.nodes = &node, .n = 1, .inotify = -1};
        struct tree t;

        make(&t);
        node.fd = openat(t.roots.dev, "sda", O_RDONLY | O_CLOEXEC);
        n_offsets = 1;
        offsets[0] = 7 * READ_SIZE;
        unread = (struct unread){.lun = 2, .n = 3, .at = {UNREAD_DONE, 7 * READ_SIZE, UNREAD_DONE}};
        n_alone = 0;
        alone = -EREMOTEIO;
        assert_int_equal(unread_again(&c, &unread), -EREMOTEIO);
        assert_true(unread_copy(&unread, &open_reads) && open_reads.n == 1 &&
                    open_reads.at[0] == 7 * READ_SIZE);
        alone = READ_SIZE - 512;
        assert_int_equal(unread_again(&c, &unread), -EIO);
        alone = READ_SIZE;
        assert_int_equal(unread_again(&c, &unread), 0);
        assert_int_equal(n_alone, 3);
        assert_false(unread_copy(&unread, &open_reads));
        offsets[0] = 0;
        assert_int_equal(unread_control(&c, 2), 0);
        alone = -EIO;
        assert_int_equal(unread_control(&c, 2), -EIO);
        assert_int_equal(unread_control(&c, 1), -ENODEV);
        (void) close(node.fd);
        tree_remove(&t);
}

static void test_text(void **state)
{
        static const char *const wrong[] = {"",
                                            "0",
                                            "0 ",
                                            "0 places",
                                            "0 other 1000",
                                            "x places 0",
                                            "0 places x",
                                            "0 places -1",
                                            "70000 places 0",
                                            "0 places ffffffffffffffff",
                                            "0 places 11111111111111111111111111"};
        struct unread most = {.lun = 7}, back;
        char text[UNREAD_TEXT_MAX];

        for (most.n = 0; most.n < UNREAD_MAX; most.n++)
                most.at[most.n] = UINT64_MAX - 1 - most.n;
        assert_true(unread_parse(unread_text(&most, text), &back));
        assert_memory_equal(&back, &most, sizeof(back));
        assert_true(strlen(text) + 4 < sizeof(text));
        strcat(text, " 0");
        assert_false(unread_parse(text, &back)); /* one too many */
        assert_true(unread_parse("1 samples", &back) && back.samples && back.n == 0 &&
                    back.lun == 1);
        assert_true(unread_parse("0 places 0 1a000", &back) && !back.samples && back.n == 2 &&
                    back.at[1] == 0x1a000);
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                if (unread_parse(wrong[i], &back))
                        fail_msg("\"%s\"", wrong[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_places), cmocka_unit_test(test_small),
                cmocka_unit_test(test_errors), cmocka_unit_test(test_hangs),
                cmocka_unit_test(test_again),  cmocka_unit_test(test_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
