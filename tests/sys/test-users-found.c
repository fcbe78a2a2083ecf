/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Users of one disk in a tree: the quick answer for each kind, the list, and that an error is never
 * an empty list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/users/users.h"
#include "tree.h"

/* A file with this text, or, if the text begins with "-> ", a link. */
struct file {
        const char *path, *text;
};

/* sda with sda1; its sg node bears the name of a character device that every machine has. */
static struct block part = {"sda1", 8, 1};
static const struct lun disk = {
        .scsi = "0:0:0:0", .sg = "null", .disk = {"sda", 8, 0}, .parts = &part, .n_parts = 1};

static void make(struct tree *t, const struct file *files, size_t n)
{
        tree_make(t);
        tree_write(t, "proc/1/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
        tree_write(t, "proc/swaps", "Filename Type Size Used Priority\n");
        for (size_t i = 0; i < n && files[i].path; i++)
                if (strncmp(files[i].text, "-> ", 3) == 0)
                        tree_link(t, files[i].path, files[i].text + 3);
                else
                        tree_write(t, files[i].path, files[i].text);
}

/* "mount sda1 /mnt, swap sda", or the errno. */
static const char *found(struct tree *t, bool deep, char *ret, size_t size)
{
        struct user *users = NULL;
        size_t n = 0;
        int k = users_find(&t->roots, &disk, 1, deep, &users, &n);

        ret[0] = '\0';
        if (k < 0)
                (void) snprintf(ret, size, "%s", strerrorname_np(-k));
        for (size_t i = 0; i < n; i++)
                (void) snprintf(ret + strlen(ret), size - strlen(ret), "%s%s %s%s%s", i ? ", " : "",
                                user_kind_to_string(users[i].kind), users[i].device,
                                users[i].where ? " " : "", users[i].where ?: "");
        users_free(users, n);
        return ret;
}

#define SWAPS "Filename Type Size Used Priority\n"
#define BTRFS "sys/fs/btrfs/1-2/devices/"
#define MOUNTED_BTRFS                                                                                       \
        "20 1 254:0 / / rw - ext4 /dev/vda rw\n21 20 0:30 / /proc rw - proc proc rw\n30 20 0:40 / /b rw - " \
        "btrfs /dev/sdb1 rw\n"

static void test_kinds(void **state)
{
        static const struct {
                struct file files[4];
                int any;
                const char *users;
        } table[] = {
                /* clang-format off */
                {{{0}}, 0, ""},
                {{{"proc/1/mountinfo", "30 20 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"}}, 1, "mount sda1 /mnt"},
                {{{"proc/1/mountinfo", "30 20 8:17 / /mnt rw - ext4 /dev/sdb1 rw\n"}}, 0, ""},
                {{{"proc/swaps", SWAPS "/dev/sda1 partition 1 0 -2\n"}}, 1, "swap sda1 /dev/sda1"},
                {{{"proc/swaps", SWAPS "/dev/sda partition 1 0 -2\n"}}, 1, "swap sda /dev/sda"},
                {{{"proc/swaps", SWAPS "/dev/sda1\\040(deleted) partition 1 0 -2\n/dev/sdb1\\040(deleted) partition 1 0 -3\n"}},
                 1,
                 "swap sda1 /dev/sda1"},
                {{{"proc/swaps",
                   SWAPS "/dev/sdb1 partition 1 0 -2\n/dev/sda2 partition 1 0 -2\n/swap file 1 0 -3\n"}},
                 0,
                 ""},
                {{{"sys/block/loop3/loop/backing_file", "/dev/sda1\n"}}, 1, "loop sda1 loop3"},
                {{{"sys/block/loop3/loop/backing_file", "/dev/sdb1\n"}}, 0, ""},
                {{{"sys/block/loop3/loop/backing_file", "/var/image\n"}, {"sys/block/loop4/size", "0\n"}},
                 0,
                 ""},
                {{{"sys/class/block/sda1/holders/dm-0", "-> ../dm-0"}}, 1, "holder sda1 dm-0"},
                {{{"sys/class/block/sda/holders/md7", "-> ../md7"}}, 2, "holder sda md7"},
                /* A btrfs is used if one of its members is mounted. Otherwise its mount may be in any namespace. */
                {{{BTRFS "sda1", ""}, {BTRFS "sdb1", ""}, {"proc/1/mountinfo", MOUNTED_BTRFS}},
                 1,
                 "mount sda1 /b, holder sda1 btrfs 1-2"},
                {{{BTRFS "sda1", ""}}, 2, "holder sda1 btrfs 1-2"},
                {{{BTRFS "sda1", ""},
                  {"sys/fs/btrfs/3-4/devices/sdb1", ""},
                  {"proc/1/mountinfo", MOUNTED_BTRFS}},
                 2,
                 "holder sda1 btrfs 1-2"},
                {{{BTRFS "sdb1", ""}, {"sys/fs/btrfs/features/x", "0\n"}, {"proc/1/mountinfo", MOUNTED_BTRFS}},
                 0,
                 ""},
                /* clang-format on */
        };
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;
                int any;

                make(&t, table[i].files, ELEMENTSOF(table[i].files));
                any = users_any(&t.roots, &disk, 1);
                (void) found(&t, false, text, sizeof(text));
                if (any != table[i].any || !streq(text, table[i].users))
                        fail_msg("row %zu: %i, %s", i, any, text);
                tree_remove(&t);
        }
}

/* An error is an error, and never an empty list. */
static void test_unknown(void **state)
{
        static const struct {
                struct file file;
                int any;
                const char *users;
        } table[] = {
                {{"proc/1/mountinfo", "-> mountinfo"}, -ELOOP, "ELOOP"},
                {{"proc/swaps", "-> swaps"}, -ELOOP, "ELOOP"},
                {{"sys/fs/btrfs", "no folder"}, -ENOTDIR, "ENOTDIR"},
                {{"sys/block", "no folder"}, -ENOTDIR, "ENOTDIR"},
                {{"sys/class/block/sda1/holders", "no folder"}, -ENOTDIR, "ENOTDIR"},
                {{"sys/class/block/sda/holders", "no folder"}, -ENOTDIR, "ENOTDIR"},
        };
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;
                int any;

                make(&t, &table[i].file, 1);
                any = users_any(&t.roots, &disk, 1);
                if (any != table[i].any ||
                    !streq(found(&t, false, text, sizeof(text)), table[i].users) ||
                    !streq(found(&t, true, text, sizeof(text)), table[i].users))
                        fail_msg("row %zu: %i, %s", i, any, text);
                tree_remove(&t);
        }
}

/* A table that can be opened but not read. */
static void test_unreadable(void **state)
{
        static const char *const tables[] = {"proc/1/mountinfo", "proc/swaps"};

        for (size_t i = 0; i < ELEMENTSOF(tables); i++) {
                struct tree t;
                char below[64], text[256] = "";

                make(&t, NULL, 0);
                tree_unlink(&t, tables[i]);
                (void) snprintf(below, sizeof(below), "%s/folder", tables[i]);
                tree_write(&t, below, "");
                if (users_any(&t.roots, &disk, 1) >= 0 ||
                    *found(&t, false, text, sizeof(text)) != 'E')
                        fail_msg("%s: %s", tables[i], text);
                tree_remove(&t);
        }
}

/* Without the node in /dev, uasd cannot ask the kernel about a loop device. Its path may name the
 * disk. Otherwise it counts as a user. */
static void test_loop_without_a_node(void **state)
{
        static const struct {
                const char *file, *users;
        } table[] = {
                {"/dev/sda1\n", "loop sda1 loop3"},
                {"/mnt/chroot/dev/sda1\n", "loop sda loop3"},
                {"/var/image\n", "loop sda loop3"},
        };
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                make(&t, &(struct file){"sys/block/loop3/loop/backing_file", table[i].file}, 1);
                if (!streq(found(&t, true, text, sizeof(text)), table[i].users))
                        fail_msg("row %zu: %s", i, text);
                tree_remove(&t);
        }
}

/* sg, bsg and tapes by their number, whatever their path. 1:3 is /dev/null, 1:5 /dev/zero. */
static void test_characters(void **state)
{
#define SCSI "-> ../../devices/pci0/usb2/2-1/2-1:1.0/host0/target0:0:0/0:0:0:0/"
#define OTHER "-> ../../devices/pci0/usb2/2-2/2-2:1.0/host1/target1:0:0/1:0:0:0/"
        static const struct {
                const char *open, *link, *to, *users;
        } table[] = {
                {"/dev/zero", "sys/dev/char/1:5", SCSI "scsi_generic/null", "open null"},
                {"/dev/zero", "sys/dev/char/1:5", SCSI "bsg/0:0:0:0", "open sda"},
                {"/dev/zero", "sys/dev/char/1:5", OTHER "scsi_generic/sg1", ""},
                {"/dev/zero", "sys/dev/char/1:5", "-> ../../devices/virtual/mem/zero", ""},
                {"/dev/zero", "sys/dev/char/1:3", SCSI "scsi_generic/null", ""},
                /* The node has the right name and the number of another disk. Without sysfs the
                   name decides. */
                {"/dev/null", "sys/dev/char/1:3", SCSI "scsi_generic/null", "open null"},
                {"/dev/null", "sys/dev/char/1:3", OTHER "scsi_generic/sg1", ""},
                {"/dev/null", "sys/dev/char/1:5", OTHER "scsi_generic/sg1", "open null"},
        };
        char text[256], to[128];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                (void) snprintf(to, sizeof(to), "-> %s", table[i].open);
                make(&t, (struct file[]){{"proc/41/fd/3", to}, {table[i].link, table[i].to}}, 2);
                if (!streq(found(&t, true, text, sizeof(text)), table[i].users))
                        fail_msg("row %zu: %s", i, text);
                tree_remove(&t);
        }
}

static bool no_statx;

int __real_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret)
{
        if (!no_statx)
                return __real_statx(dirfd, path, flags, mask, ret);
        errno = EINVAL; /* as the C library says before Linux 4.11 */
        return -1;
}

/* Without statx() a look asks a file server, which may not answer. So its files are left out. */
static void test_file_server(void **state)
{
        static const struct {
                bool no_statx;
                const char *of_process, *of_pid1, *users;
        } table[] = {
                {true, NULL, NULL, "open null"},
                {true, "30 20 0:50 / /dev rw - nfs4 server:/x rw\n", NULL, ""},
                {true, NULL, "30 20 0:50 / /dev rw - nfs4 server:/x rw\n", ""},
                {true, "30 20 0:50 / /dev rw - ext4 /dev/vdb rw\n", NULL, "open null"},
                {true, "30 20 0:50 / /de rw - nfs4 server:/x rw\n", NULL, "open null"},
                {true,
                 "30 20 0:50 / /a rw - ext4 /dev/vdb rw\n31 20 0:51 / /b rw - nfs4 server:/b rw\n"
                 "32 20 0:52 / /dev rw - fuse.sshfs server: rw\n",
                 NULL, ""},
                {false, "30 20 0:50 / /dev rw - nfs4 server:/x rw\n", NULL, "open null"},
        };
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                make(&t,
                     (struct file[]){{"proc/41/fd/3", "-> /dev/zero"},
                                     {"sys/dev/char/1:5", SCSI "scsi_generic/null"}},
                     2);
                if (table[i].of_process)
                        tree_write(&t, "proc/41/mountinfo", table[i].of_process);
                if (table[i].of_pid1)
                        tree_write(&t, "proc/1/mountinfo", table[i].of_pid1);
                no_statx = table[i].no_statx;
                (void) found(&t, true, text, sizeof(text));
                no_statx = false;
                if (!streq(text, table[i].users))
                        fail_msg("row %zu: %s", i, text);
                tree_remove(&t);
        }
}

/* Each process once for each node, with the descriptor that was found first. One that does not open
 * the node does not count. */
static void test_opens(void **state)
{
        static const struct file files[] = {
                {"sys/dev/char/1:5", SCSI "scsi_generic/null"},
                {"proc/41/fd/3", "-> /dev/zero"},
                {"proc/41/fd/4", "-> /dev/zero"},
                {"proc/41/fdinfo/3", "pos:\t0\nflags:\t0100002\nmnt_id:\t1\n"},
                {"proc/41/comm", "one\n"},
                {"proc/41/cgroup", "0::/system.slice/one.service\n"},
                {"proc/42/fd/7", "-> /dev/zero"},
                {"proc/43/fd/3", "-> /dev/zero"},
                {"proc/43/fdinfo/3", "pos:\t0\nflags:\t012100000\nmnt_id:\t1\n"}, /* O_PATH */
                {"proc/44/fd/3", "-> pipe:[1]"},
                {"proc/45/fd/3", "-> /dev/zero"},
                {"proc/45/fdinfo/3", ""}, /* unknown counts */
                {"proc/self/fd/3", "-> /dev/zero"},
        };
        static const struct {
                pid_t pid;
                const char *via, *command, *unit;
        } expected[] = {{41, "41/fd/3", "one", "one.service"},
                        {42, "42/fd/7", NULL, NULL},
                        {45, "45/fd/3", NULL, NULL}};
        struct user *users = NULL;
        struct tree t;
        size_t n = 0;

        make(&t, files, ELEMENTSOF(files));
        assert_int_equal(users_find(&t.roots, &disk, 1, true, &users, &n), 0);
        assert_int_equal(n, ELEMENTSOF(expected));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(users[i].kind, USER_OPEN);
                assert_string_equal(users[i].device, "null");
                assert_int_equal(users[i].pid, expected[i].pid);
                assert_string_equal(users[i].via, expected[i].via);
                assert_string_equal(users[i].command ?: "-", expected[i].command ?: "-");
                assert_string_equal(users[i].unit ?: "-", expected[i].unit ?: "-");
        }
        users_free(users, n);
        tree_remove(&t);
}

/* Only the close of the node in /dev is an event. A container has another node of that name. */
static void test_open_told(void **state)
{
        const struct roots machine = {.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                      .dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), watch = inotify_init1(IN_CLOEXEC);
        char via[32], gone[32];
        struct roots container;
        struct tree t;

        tree_make(&t);
        tree_write(&t, "dev/null", "no device");
        container = (struct roots){.proc = machine.proc, .dev = t.roots.dev};
        (void) snprintf(via, sizeof(via), "%i/fd/%i", (int) getpid(), fd);
        (void) snprintf(gone, sizeof(gone), "%i/fd/%i", (int) getpid(), 9999);
        const struct {
                const struct roots *r;
                struct user user;
                bool told;
        } table[] = {
                {&machine, {.kind = USER_OPEN, .device = "null", .via = via}, true},
                {&machine, {.kind = USER_OPEN, .device = "zero", .via = via}, false},
                {&machine, {.kind = USER_OPEN, .device = "no-such-node", .via = via}, false},
                {&machine, {.kind = USER_OPEN, .device = "null", .via = gone}, false},
                {&machine, {.kind = USER_OPEN, .device = "null"}, false},
                {&container, {.kind = USER_OPEN, .device = "null", .via = via}, false},
        };
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (users_told(table[i].r, &disk, 1, watch, &table[i].user, 1) != table[i].told)
                        fail_msg("row %zu", i);
        (void) close(fd);
        (void) close(watch);
        (void) close(machine.proc);
        (void) close(machine.dev);
        tree_remove(&t);
}

/* The tables can be read one by one, but there is no descriptor left for fd/ of a process. */
static void test_no_descriptor(void **state)
{
        struct rlimit before, few;
        char text[256];
        struct tree t;
        int fd;

        make(&t,
             (struct file[]){{"proc/41/fd/3", "-> /dev/zero"},
                             {"sys/dev/char/1:5", SCSI "scsi_generic/null"}},
             2);
        assert_string_equal(found(&t, true, text, sizeof(text)), "open null");
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit){(rlim_t) fd + 1, before.rlim_max};
        (void) close(fd);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        (void) found(&t, true, text, sizeof(text));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_string_equal(text, "EMFILE");
        tree_remove(&t);
}

/* configfs or sysfs shows them, and nothing else does. */
static void test_targets(void **state)
{
#define CONFIG "sys/kernel/config/"
#define NVMET CONFIG "nvmet/subsystems/one/namespaces/1/"
#define XEN "sys/bus/xen-backend/devices/"
#define FILEIO CONFIG "target/core/fileio_0/name/"
#define INFO(path)                                                                                                                   \
        "Status: ACTIVATED  Max Queue Depth: 128  SectorSize: 512  HwMaxSectors: 16384\n        TCM FILEIO ID: 0        File: " path \
        "  Size: 67108864  Mode: O_DSYNC Async: 0\n"
#define RNBD "sys/class/rnbd-server/ctl/devices/"
#define SCST "sys/kernel/scst_tgt/devices/"
        static const struct {
                struct file files[2];
                const char *users;
        } table[] = {
                {{{NVMET "device_path", "/dev/sda1\n"}, {NVMET "enable", "1\n"}}, "open sda1"},
                {{{NVMET "device_path", "/dev/sda1\n"}, {NVMET "enable", "0\n"}}, ""},
                {{{NVMET "device_path", "(null)\n"}, {NVMET "enable", "0\n"}}, ""},
                {{{NVMET "device_path", "/dev/sdb\n"}, {NVMET "enable", "1\n"}}, ""},
                {{{FILEIO "info", INFO("/dev/sda")}, {FILEIO "enable", "1\n"}}, "open sda"},
                {{{FILEIO "info", INFO("/dev/sda")}, {FILEIO "enable", "0\n"}}, ""},
                {{{FILEIO "info", INFO("/dev/sda  Size: 5")}, {FILEIO "enable", "1\n"}},
                 ""}, /* a file with a strange name */
                {{{FILEIO "info", INFO("/srv/image")}, {FILEIO "enable", "1\n"}}, ""},
                {{{FILEIO "info", "Status: DEACTIVATED\n"}}, ""},
                {{{CONFIG "target/core/iblock_0/name/info", INFO("/dev/sda")}},
                 ""}, /* it claims its disk */
                {{{RNBD "sda1/block_dev", "-> ../../../../../devices/pci0/block/sda/sda1"}},
                 "open sda1"},
                {{{RNBD "sdb/block_dev", "-> ../../../../../devices/pci0/block/sdb"}}, ""},
                {{{SCST "one/filename", "/dev/sda1\n[key]\n"}}, "open sda1"},
                {{{SCST "one/filename", "/dev/sda1\n"}, {SCST "two/filename", "/srv/image\n"}},
                 "open sda1"},
                {{{CONFIG "usb_gadget/g/functions/mass_storage.0/lun.0/file", "/dev/sda\n"}},
                 "open sda"},
                {{{CONFIG "usb_gadget/g/functions/mass_storage.0/lun.0/file", "\n"}}, ""},
                {{{XEN "vbd-1-51712/physical_device", "8:1\n"}}, "open sda1"},
                {{{XEN "vbd-1-51712/physical_device", "8:10\n"}}, ""}, /* sdb */
                {{{XEN "vbd-1-51712/physical_device", "0:0\n"}, {XEN "vif-1-0/mode", "w\n"}}, ""},
                {{{NVMET "device_path/folder", ""}}, "EISDIR"},
                {{{CONFIG "nvmet/subsystems", "-> subsystems"}},
                 "EIO"}, /* a folder that cannot be read */
        };
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                make(&t, table[i].files, ELEMENTSOF(table[i].files));
                if (!streq(found(&t, true, text, sizeof(text)), table[i].users))
                        fail_msg("row %zu: %s", i, text);
                tree_remove(&t);
        }
}

/* The name of one disk's node and the number of the other's. If both disks are asked about, the
 * number decides. */
static void test_two_disks(void **state)
{
        static const struct lun other = {.scsi = "1:0:0:0", .sg = "sg1", .disk = {"sdb", 8, 16}};
        struct users_of of[] = {{.luns = &disk, .n_luns = 1}, {.luns = &other, .n_luns = 1}};
        struct tree t;

        make(&t,
             (struct file[]){{"proc/41/fd/3", "-> /dev/null"},
                             {"sys/dev/char/1:3", OTHER "scsi_generic/sg1"}},
             2);
        assert_int_equal(users_find_each(&t.roots, of, 2, true), 0);
        assert_int_equal(of[0].n_users, 0);
        assert_int_equal(of[1].n_users, 1);
        assert_string_equal(of[1].users[0].device, "sg1");
        users_free(of[1].users, of[1].n_users);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),       cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_unreadable),  cmocka_unit_test(test_loop_without_a_node),
                cmocka_unit_test(test_characters),  cmocka_unit_test(test_two_disks),
                cmocka_unit_test(test_opens),       cmocka_unit_test(test_open_told),
                cmocka_unit_test(test_targets),     cmocka_unit_test(test_no_descriptor),
                cmocka_unit_test(test_file_server),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
