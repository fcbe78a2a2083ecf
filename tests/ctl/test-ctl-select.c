/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "client/client.h"
#include "client/select.h"

/*
 * sdb and its partitions behind 2-1, sdc behind 2-2, sdd and sde behind the two interfaces of 2-3;
 * dm-0 on sdb1 and sdb2, dm-1 on dm-0 and sdc.
 */
struct fixture {
        char dir[32];
        struct roots roots;
        struct views views;
};

static void link_to(int dir, const char *target, const char *path)
{
        assert_int_equal(symlinkat(target, dir, path), 0);
}

static void make_dir(int dir, const char *path)
{
        char part[128];

        for (const char *slash = path; *slash; slash++)
                if (slash[1] == '/' || !slash[1]) {
                        (void) snprintf(part, sizeof(part), "%.*s", (int) (slash + 1 - path), path);
                        assert_true(mkdirat(dir, part, 0755) == 0 || errno == EEXIST);
                }
}

static void add_view(struct fixture *f, const char *interface, const char *block,
                     const char *serial, uint16_t pid)
{
        struct view v = sample_view(interface, block, serial);

        v.disk.facts.pid = pid;
        views_add(&f->views, &v);
}

/* dm-10 is on sdc, and each of the next eight is on the one before it. */
static void add_tower(int dir)
{
        for (int i = 10; i <= 18; i++) {
                char name[64], slave[128],
                        below[64] = "../../../../usb2/2-2/2-2:1.0/host1/block/sdc";

                if (i > 10)
                        (void) snprintf(below, sizeof(below), "../../dm-%i", i - 1);
                (void) snprintf(slave, sizeof(slave), "devices/virtual/block/dm-%i/slaves", i);
                make_dir(dir, slave);
                (void) snprintf(slave, sizeof(slave), "devices/virtual/block/dm-%i/slaves/%s", i,
                                strrchr(below, '/') + 1);
                link_to(dir, below, slave);
                (void) snprintf(below, sizeof(below), "../../devices/virtual/block/dm-%i", i);
                (void) snprintf(name, sizeof(name), "class/block/dm-%i", i);
                link_to(dir, below, name);
        }
}

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));
        int dir;

        assert_non_null(f);
        (void) copy_string(f->dir, sizeof(f->dir), "/tmp/ctl-select-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        dir = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir >= 0);
        f->roots = ROOTS_NULL;
        f->roots.sys = dir;

        make_dir(dir, "devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb1");
        make_dir(dir, "devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb2");
        make_dir(dir, "devices/usb2/2-2/2-2:1.0/host1/block/sdc");
        make_dir(dir, "devices/virtual/block/dm-0/slaves");
        make_dir(dir, "devices/virtual/block/dm-1/slaves");
        make_dir(dir, "class/block");
        link_to(dir, "../../devices/usb2/2-1/2-1:1.0/host0/block/sdb", "class/block/sdb");
        link_to(dir, "../../devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb1", "class/block/sdb1");
        link_to(dir, "../../devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb2", "class/block/sdb2");
        link_to(dir, "../../devices/usb2/2-2/2-2:1.0/host1/block/sdc", "class/block/sdc");
        link_to(dir, "../../devices/virtual/block/dm-0", "class/block/dm-0");
        link_to(dir, "../../devices/virtual/block/dm-1", "class/block/dm-1");
        link_to(dir, "../../../../usb2/2-1/2-1:1.0/host0/block/sdb/sdb1",
                "devices/virtual/block/dm-0/slaves/sdb1");
        link_to(dir, "../../../../usb2/2-1/2-1:1.0/host0/block/sdb/sdb2",
                "devices/virtual/block/dm-0/slaves/sdb2");
        link_to(dir, "../../dm-0", "devices/virtual/block/dm-1/slaves/dm-0");
        link_to(dir, "../../../../usb2/2-2/2-2:1.0/host1/block/sdc",
                "devices/virtual/block/dm-1/slaves/sdc");

        add_view(f, "2-1:1.0", "sdb", "SERIAL1", 0x0001);
        add_view(f, "2-2:1.0", "sdc", "sdb",
                 0x0002); /* its serial number is the name of another disk */
        add_view(f, "2-3:1.0", "sdd", "", 0x0003);
        add_view(f, "2-3:1.1", "sde", "SERIAL2", 0x0003);
        add_view(f, "2-4:1.0", "sdf", "A_B_C", 0x0004);
        (void) copy_string(f->views.list[4].disk.facts.product, USB_STRING_MAX, "Portable T7");
        (void) copy_string(f->views.list[4].former, sizeof(f->views.list[4].former), "sdx sdy");
        (void) copy_string(f->views.list[1].former, sizeof(f->views.list[1].former), "sdb");
        (void) copy_string(f->views.list[4].disk.facts.manufacturer, USB_STRING_MAX, "Acme");
        (void) copy_string(f->views.list[1].disk.facts.product, USB_STRING_MAX, "sdq disk x");
        make_dir(dir, "devices/virtual/block/vda/slaves");
        link_to(dir, "../../devices/virtual/block/vda", "class/block/vda");
        make_dir(dir, "devices/virtual/block/loop0/loop/backing_file");
        link_to(dir, "../../devices/virtual/block/loop0", "class/block/loop0");
        make_dir(dir, "devices/virtual/block/dm-2/slaves");
        link_to(dir, "../../devices/virtual/block/dm-2", "class/block/dm-2");
        link_to(dir, "../../vda", "devices/virtual/block/dm-2/slaves/vda");
        link_to(dir, "../../dm-0", "devices/virtual/block/dm-2/slaves/dm-0");
        add_tower(dir);
        *state = f;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        (void) nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        roots_close(&f->roots);
        views_done(&f->views);
        free(f);
        return 0;
}

static void words(void **state)
{
        static const struct {
                const char *what;
                int expect;
                const char *first;
        } rows[] = {
                {"2-1:1.0", 1, "2-1:1.0"},
                {"2-1", 1, "2-1:1.0"},
                {"2-3", 2, "2-3:1.0"},
                {"2-3:1.1", 1, "2-3:1.1"},
                {"2", 0},
                {"sdb", 1, "2-1:1.0"}, /* not the one with this serial */
                {"sdb1", 1, "2-1:1.0"},
                {"sdz", 0},
                {"sdb-with-a-name-that-is-longer-than-that-of-any-block-device-and-than-its-path",
                 0},
                {"sdx", 1, "2-4:1.0"}, /* it had this name before its switch */
                {"sdy", 1, "2-4:1.0"},
                {"/dev/sdy", 1, "2-4:1.0"},
                {"dy", 0},
                {"sd", 0},
                {"dm-0", 1, "2-1:1.0"},
                {"dm-1", 2, "2-1:1.0"},
                {"dm-17", 1, "2-2:1.0"},
                {"dm-18", -EXDEV}, /* too many are between it and the disk */
                {"1209:0001", 1, "2-1:1.0"},
                {"1209:0003", 2, "2-3:1.0"},
                {"1209:0003:SERIAL2", 1, "2-3:1.1"},
                {"1209:0003:SERIAL1", 0},
                {"1209:", 0},
                {"1209:00011", 0},
                {"SERIAL1", 1, "2-1:1.0"},
                {"serial1", 1, "2-1:1.0"},
                {"serial", 0},
                {"portable t7", 1, "2-4:1.0"},
                {"ACME", 1, "2-4:1.0"},
                {"sdq disk",
                 0}, /* the product of sdc: not for what may be the name of a block device */
                {"x", 0},
                {"vda", -EXDEV}, /* a disk, but not on USB */
                {"SERIAL2", 1, "2-3:1.1"},
                {"", 0},
                {" A/B C", 1, "2-4:1.0"}, /* as lsusb shows it */
                {"a/b c", 1, "2-4:1.0"},
                {"1209:0004: A/B C", 1, "2-4:1.0"},
                {"A_B C ", 1, "2-4:1.0"},
                {"a_b c", 1, "2-4:1.0"},
                {"1209:0004:A_B_C", 1, "2-4:1.0"},
                {"A_B_C,", 0},
                {"1209:0004:A/C", -ENOENT},
                {"../class", -ENOENT},
                {"..", 0},
                {"/nonexistent/disk", -ENOENT},
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const struct view *found[8] = {};
                int k = select_disks(&f->roots, &f->views, rows[i].what, found);

                if (k != rows[i].expect)
                        fail_msg("'%s': %i, not %i", rows[i].what, k, rows[i].expect);
                if (k > 0)
                        assert_string_equal(found[0]->disk.facts.interface, rows[i].first);
        }
}

static void upper_case_ids(void **state)
{
        struct fixture *f = *state;
        const struct view *found[8];

        f->views.list[0].disk.facts.pid = 0xabcd;
        assert_int_equal(select_disks(&f->roots, &f->views, "1209:ABCD", found), 1);
}

/* Device nodes. The kernel opens none of them. */
static void nodes(void **state)
{
        static const struct {
                const char *name, *target;
                unsigned minor;
                int expect;
        } rows[] = {
                {"sdb1", "../../devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb1", 17, 1},
                {"dm-1", "../../devices/virtual/block/dm-1", 1, 2},
                {"vda", "../../devices/virtual/block/vda", 2, -EXDEV},
                {"unknown", NULL, 3, -EXDEV},
        };
        struct fixture *f = *state;

        make_dir(f->roots.sys, "dev/block");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const struct view *found[8] = {};
                char path[64], link[32];

                (void) snprintf(path, sizeof(path), "%s/%s", f->dir, rows[i].name);
                (void) snprintf(link, sizeof(link), "dev/block/8:%u", rows[i].minor);
                if (rows[i].target)
                        link_to(f->roots.sys, rows[i].target, link);
                if (mknod(path, S_IFBLK | 0600, makedev(8, rows[i].minor)) < 0)
                        skip();
                assert_int_equal(select_disks(&f->roots, &f->views, path, found), rows[i].expect);
                if (rows[i].expect > 0)
                        assert_string_equal(found[0]->disk.facts.interface, "2-1:1.0");
        }
}

/* The directories exist, and this table says what is mounted there. */
static void mount_points(void **state)
{
        static const struct {
                const char *name;
                int expect;
        } rows[] = {
                {"usb", 1},           {"renumbered", 1},  {"under", 1},    {"over", -EXDEV},
                {"btrfs", 1},         {"fuse", -EXDEV},   {"tty", -EXDEV}, {"tmpfs", -EXDEV},
                {"internal", -EXDEV}, {"none", -ENOTBLK}, {"usb/", 1},     {"gone", -ENOENT},
        };
        struct fixture *f = *state;
        const struct view *none[8] = {};
        bool may_make_nodes;
        char path[64];
        FILE *table;

        make_dir(f->roots.sys, "dev/block");
        make_dir(f->roots.sys, "self");
        link_to(f->roots.sys, "../../devices/usb2/2-1/2-1:1.0/host0/block/sdb/sdb1",
                "dev/block/8:17");
        link_to(f->roots.sys, "../../devices/virtual/block/vda", "dev/block/8:2");
        make_dir(f->roots.sys, "usb");
        (void) snprintf(path, sizeof(path), "%s/usb", f->dir);
        assert_int_equal(select_disks(&f->roots, &f->views, path, none), -EBADF); /* no table */
        (void) snprintf(path, sizeof(path), "%s/node-usb", f->dir);
        may_make_nodes = mknod(path, S_IFBLK | 0600, makedev(8, 17)) == 0;
        (void) snprintf(path, sizeof(path), "%s/node-internal", f->dir);
        (void) mknod(path, S_IFBLK | 0600, makedev(8, 2));
        (void) snprintf(path, sizeof(path), "%s/node-tty", f->dir);
        (void) mknod(path, S_IFCHR | 0600, makedev(8, 17));
        (void) snprintf(path, sizeof(path), "%s/self/mountinfo", f->dir);
        table = fopen(path, "we");
        assert_non_null(table);
#define MOUNT(number, where, type, source)                                                         \
        (void) fprintf(table, "20 1 " number " / %s/" where " rw - " type " %s/" source " rw\n",   \
                       f->dir, f->dir)
        MOUNT("8:17", "usb", "ext4", "node-usb");
        MOUNT("8:17", "renumbered", "ext4", "node-internal"); /* the node has another number now */
        MOUNT("8:2", "under", "ext4", "node-internal");
        MOUNT("8:17", "under", "ext4", "node-usb");
        MOUNT("8:17", "over", "ext4", "node-usb");
        MOUNT("0:46", "over", "tmpfs", "no-node");
        MOUNT("0:45", "btrfs", "btrfs", "node-usb");
        MOUNT("0:47", "fuse", "fuse.sshfs", "self/mountinfo");
        MOUNT("0:48", "tty", "fuse.tty", "node-tty");
        (void) fprintf(table, "20 1 0:49 / %s/tmpfs rw - tmpfs tmpfs rw\n", f->dir);
        MOUNT("8:2", "internal", "ext4", "node-internal");
        assert_int_equal(fclose(table), 0);
        f->roots.proc = fcntl(f->roots.sys, F_DUPFD_CLOEXEC, 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const struct view *found[8] = {};
                int k;

                if (!may_make_nodes && streq(rows[i].name, "btrfs"))
                        continue;
                if (rows[i].expect != -ENOENT)
                        make_dir(f->roots.sys, rows[i].name);
                (void) snprintf(path, sizeof(path), "%s/%s", f->dir, rows[i].name);
                k = select_disks(&f->roots, &f->views, path, found);
                if (k != rows[i].expect)
                        fail_msg("'%s': %i, not %i", rows[i].name, k, rows[i].expect);
                if (k > 0)
                        assert_string_equal(found[0]->disk.facts.interface, "2-1:1.0");
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(words, setup, teardown),
                cmocka_unit_test_setup_teardown(upper_case_ids, setup, teardown),
                cmocka_unit_test_setup_teardown(nodes, setup, teardown),
                cmocka_unit_test_setup_teardown(mount_points, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
