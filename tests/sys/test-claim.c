/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Claimed disks: files take their place, and the test answers the commands. tests/fake has the
 * claim itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/block/claim.h"
#include "tree.h"

/* The answers. */
static int sg_error, ro_error, size_error, read_only, sg_info;
static uint64_t size;
static int not_synced; /* its fsync fails */

static int order[8]; /* of the descriptors that were synced */
static size_t n_synced, n_commands;
static struct sg_io_hdr command;
static uint8_t bytes[6];

int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
        int error = 0;

        switch (request) {
        case SG_IO:
                n_commands++;
                command = *(struct sg_io_hdr *) argument;
                memcpy(bytes, command.cmdp, sizeof(bytes));
                ((struct sg_io_hdr *) argument)->info = (unsigned) sg_info;
                error = sg_error;
                break;
        case BLKROGET:
                *(int *) argument = read_only;
                error = ro_error;
                break;
        case BLKGETSIZE64:
                memcpy(argument, &size, sizeof(size));
                error = size_error;
                break;
        default:
                fail_msg("%lx", request);
        }
        errno = error;
        return error ? -1 : 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
        order[n_synced++] = fd;
        errno = EIO;
        return fd == not_synced ? -1 : 0;
}

static int open_any(void)
{
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static bool is_open(int fd)
{
        return fcntl(fd, F_GETFD) >= 0;
}

/* Two LUNs, the first with a partition. Only the disks are claimed: one by its own descriptor, one
 * by the other. */
static struct claim make(void)
{
        struct claim c = CLAIM_NULL;
        int second = open_any();

        c.nodes = calloc(3, sizeof(*c.nodes));
        assert_non_null(c.nodes);
        c.nodes[0] = (struct claimed){
                .fd = open_any(), .exclusive = open_any(), .whole = true, .name = "sda", .lun = 1};
        c.nodes[1] = (struct claimed){.fd = open_any(), .exclusive = -1, .name = "sda1", .lun = 1};
        c.nodes[2] = (struct claimed){
                .fd = second, .exclusive = second, .whole = true, .name = "sdb", .lun = 2};
        c.n = 3;
        c.inotify = open_any();
        return c;
}

static void test_has(void **state)
{
        struct claim c = make();
        struct claimed was = c.nodes[0];
        int inotify = c.inotify, other = c.nodes[2].fd, partition = c.nodes[1].fd;

        assert_true(claim_has(&c, 1) && claim_has(&c, 2));
        assert_false(claim_has(&c, 3));
        claim_let_go(&c, 1);
        assert_false(claim_has(&c, 1));
        assert_true(claim_has(&c, 2));
        assert_false(is_open(was.exclusive));
        assert_true(is_open(was.fd)); /* it stays open for the sync */
        claim_let_go(&c, 2);          /* its claim is its only descriptor */
        assert_true(claim_has(&c, 2));
        claim_close_partitions(&c);
        assert_int_equal(c.n, 2);
        assert_string_equal(c.nodes[1].name, "sdb");
        assert_false(is_open(partition));
        assert_true(is_open(inotify));
        claim_keep(&c);
        assert_int_equal(c.n, 2);
        assert_int_equal(c.inotify, -1);
        assert_false(is_open(inotify));
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
        claim_drop(&c);
        c = make();
        claim_keep(&c);
        assert_int_equal(c.n, 2);
        claim_drop(&c);
        assert_true(!c.nodes && c.n == 0);
        assert_false(is_open(was.fd) || is_open(other));
        claim_drop(&c);
}

static void test_drop(void **state)
{
        struct claim c = make();
        struct claimed was[3];
        int inotify = c.inotify;

        memcpy(was, c.nodes, sizeof(was));
        claim_close(&c);
        for (size_t i = 0; i < ELEMENTSOF(was); i++)
                assert_false(is_open(was[i].fd));
        assert_false(is_open(was[0].exclusive));
        assert_true(!c.nodes && c.n == 0);
        assert_true(is_open(inotify)); /* its close takes longer than all others */
        claim_drop(&c);
        assert_false(is_open(inotify));
        assert_int_equal(c.inotify, -1);
        claim_drop(&c);
}

/* The kernel's START STOP UNIT with no bit: it stops, and is not ejected. */
static void test_stop(void **state)
{
        static const uint8_t stop[6] = {0x1b};
        struct claim c = make();

        assert_int_equal(claim_stop(&c, 0), 0);
        assert_int_equal(n_commands, 1);
        assert_memory_equal(bytes, stop, sizeof(stop));
        assert_int_equal(command.interface_id, 'S');
        assert_int_equal(command.cmd_len, 6);
        assert_int_equal(command.dxfer_direction, SG_DXFER_NONE);
        assert_int_equal(command.dxfer_len, 0);
        assert_in_range(command.timeout, 30000, 120000); /* a large disk needs seconds */
        assert_true(command.sbp && command.mx_sb_len >= 18);
        sg_info = SG_INFO_CHECK;
        assert_int_equal(claim_stop(&c, 2), -EIO);
        sg_info = 0;
        sg_error = ENXIO;
        assert_int_equal(claim_stop(&c, 2), -ENXIO);
        sg_error = 0;
        assert_int_equal(claim_stop(&c, 1), 0); /* a partition */
        assert_int_equal(n_commands, 3);
        claim_drop(&c);
}

/* The partitions first. A node without anything to write may fail. */
static void test_sync(void **state)
{
        char failed[BLOCK_NAME_MAX] = "-";
        struct claim c = make();

        size = 1 << 20;
        not_synced = -1;
        assert_int_equal(claim_sync(&c, failed), 0);
        assert_int_equal(n_synced, 3);
        assert_int_equal(order[0], c.nodes[1].fd);
        assert_string_equal(failed, "-");
        for (size_t i = 0; i < c.n; i++) {
                not_synced = c.nodes[i].fd;
                n_synced = 0;
                assert_int_equal(claim_sync(&c, failed), -EIO);
                assert_string_equal(failed, c.nodes[i].name);
                n_synced = 0;
                read_only = 1; /* a write-protected card */
                assert_int_equal(claim_sync(&c, failed), 0);
                assert_int_equal(n_synced, 3);
                ro_error = ENOTTY;
                n_synced = 0;
                assert_int_equal(claim_sync(&c, failed), -EIO);
                size = 0; /* an empty slot */
                n_synced = 0;
                assert_int_equal(claim_sync(&c, failed), 0);
                size_error = ENOTTY;
                n_synced = 0;
                assert_int_equal(claim_sync(&c, failed), -EIO);
                size = 1 << 20;
                read_only = ro_error = size_error = 0;
        }
        claim_drop(&c);
}

/* Writes and discards of the whole disks. Older kernels do not count discards. */
static void test_written(void **state)
{
        static const struct {
                const char *sda, *sdb;
                uint64_t sum;
        } table[] = {
                {"1 2 3 4 5 6 70 8 9 10 11 12 13 14 15 16 17\n", NULL, 84},
                {"1 2 3 4 5 6 70 8 9 10 11\n", "1 2 3 4 5 6 500 8 9 10 11 12 13 1000 15 16 17\n",
                 1570},
                {"1 2 3 4 5 6 70\n", "nonsense\n", 70},
                {"1 2 3 4 5 6\n", "", 0},
        };
        struct claim c = make();
        struct tree t;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                tree_make(&t);
                tree_write(&t, "sys/class/block/sda/stat", table[i].sda);
                tree_write(&t, "sys/class/block/sda1/stat", "1 2 3 4 5 6 7777 8 9 10 11\n");
                if (table[i].sdb)
                        tree_write(&t, "sys/class/block/sdb/stat", table[i].sdb);
                assert_int_equal(claim_written(&t.roots, &c), table[i].sum);
                tree_remove(&t);
        }
        claim_drop(&c);
}

/* A program may have written where one of its events shows that, or where events are lost. */
static void test_events(void **state)
{
        static const struct {
                uint32_t mask[2];
                enum disturbance d;
        } table[] = {
                {{IN_OPEN}, DISTURBANCE_OPENED},
                {{IN_OPEN, IN_CLOSE_NOWRITE}, DISTURBANCE_OPENED},
                {{IN_MODIFY, IN_OPEN}, DISTURBANCE_WRITTEN},
                {{IN_OPEN, IN_CLOSE_WRITE}, DISTURBANCE_WRITTEN},
                {{IN_OPEN, IN_Q_OVERFLOW}, DISTURBANCE_WRITTEN},
        };
        struct claim c = CLAIM_NULL;
        int fds[2];

        assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
        c.inotify = fds[0];
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                for (size_t e = 0; e < 2 && table[i].mask[e]; e++) {
                        const struct inotify_event event = {.mask = table[i].mask[e]};

                        assert_int_equal(write(fds[1], &event, sizeof(event)), sizeof(event));
                }
                assert_int_equal(claim_disturbed(&c), table[i].d);
                assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
        }
        claim_drop(&c);
        (void) close(fds[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_has),     cmocka_unit_test(test_drop),
                cmocka_unit_test(test_stop),    cmocka_unit_test(test_sync),
                cmocka_unit_test(test_written), cmocka_unit_test(test_events),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
