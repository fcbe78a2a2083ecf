/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Users of several disks. Each is found for the right disk, also through stacked devices, and every
 * process is read once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/users/search.h"
#include "sys/users/users.h"
#include "tree.h"

#define DISKS 8

static unsigned asked, again; /* again: reads of PID 1's mount table through a process */

int __real_search_process(const char *pid, void *data);
int __wrap_search_process(const char *pid, void *data);

int __wrap_search_process(const char *pid, void *data)
{
        asked += *pid >= '0' && *pid <= '9';
        return __real_search_process(pid, data);
}

int __real_search_mounts(struct user_search *list, size_t n, const char *path,
                         const char *namespace, const char *pid);
int __wrap_search_mounts(struct user_search *list, size_t n, const char *path,
                         const char *namespace, const char *pid);

int __wrap_search_mounts(struct user_search *list, size_t n, const char *path,
                         const char *namespace, const char *pid)
{
        again += namespace && streq(namespace, "mnt:[1]");
        return __real_search_mounts(list, n, path, namespace, pid);
}

int __real_strv_push(char ***list, size_t *n, const char *word);
int __wrap_strv_push(char ***list, size_t *n, const char *word);
static bool no_memory;

int __wrap_strv_push(char ***list, size_t *n, const char *word)
{
        return no_memory && startswith(word, "mnt:") ? -ENOMEM : __real_strv_push(list, n, word);
}

static void make(struct tree *t, struct lun luns[static DISKS], struct users_of of[static DISKS])
{
        tree_make(t);
        tree_write(
                t, "proc/1/mountinfo",
                "20 1 254:0 / / rw - ext4 /dev/vda rw\n30 20 8:0 / /mnt/a rw - ext4 /dev/sda rw\n"
                "31 20 8:32 / /mnt/c rw - ext4 /dev/sdc rw\n");
        tree_write(t, "proc/swaps",
                   "Filename Type Size Used Priority\n/dev/sdd partition 1 0 -2\n");
        tree_link(t, "proc/1/ns/mnt", "mnt:[1]");
        tree_link(t, "proc/40/ns/mnt", "mnt:[1]");
        tree_link(t, "proc/41/ns/mnt", "mnt:[2]");
        tree_write(t, "proc/41/comm", "nspawn\n");
        tree_write(t, "proc/41/mountinfo",
                   "40 1 8:16 / /b rw - ext4 /dev/sdb rw\n41 1 8:0 / /mnt/a rw - ext4 /dev/sda rw\n"
                   "42 1 8:32 / /elsewhere rw - ext4 /dev/sdc rw\n");
        tree_link(t, "proc/42/ns/mnt", "mnt:[2]");
        for (unsigned i = 0; i < DISKS; i++) {
                luns[i] = (struct lun){.disk = {.major = 8, .minor = 16 * i}};
                (void) snprintf(luns[i].disk.name, sizeof(luns[i].disk.name), "sd%c",
                                'a' + (char) i);
                of[i] = (struct users_of){.luns = &luns[i], .n_luns = 1};
        }
        asked = again = 0;
}

static void done(struct tree *t, struct users_of of[static DISKS])
{
        for (size_t i = 0; i < DISKS; i++)
                users_free(of[i].users, of[i].n_users);
        tree_remove(t);
}

static void test_one_walk(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        assert_int_equal(users_find_each(&t.roots, of, DISKS, true), 0);
        assert_int_equal(asked, 4);
        assert_int_equal(again, 0);
        /* A mount in PID 1's table does not count again in another namespace. */
        assert_int_equal(of[0].n_users, 1);
        assert_string_equal(of[0].users[0].where, "/mnt/a");
        assert_null(of[0].users[0].namespace);
        assert_int_equal(of[1].n_users, 1);
        assert_string_equal(of[1].users[0].where, "/b");
        assert_string_equal(of[1].users[0].device, "sdb");
        assert_string_equal(of[1].users[0].namespace, "mnt:[2]");
        assert_string_equal(of[1].users[0].command, "nspawn");
        assert_int_equal(of[2].n_users, 2);
        assert_string_equal(of[2].users[1].where, "/elsewhere");
        assert_int_equal(of[3].n_users, 1);
        assert_int_equal(of[3].users[0].kind, USER_SWAP);
        for (size_t i = 4; i < DISKS; i++)
                assert_int_equal(of[i].n_users, 0);
        done(&t, of);
}

/* The same result as for each disk separately. */
static void test_as_alone(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        assert_int_equal(users_find_each(&t.roots, of, DISKS, true), 0);
        for (size_t i = 0; i < DISKS; i++) {
                struct user *users;
                size_t n;

                assert_int_equal(users_find(&t.roots, &luns[i], 1, true, &users, &n), 0);
                assert_int_equal(n, of[i].n_users);
                for (size_t u = 0; u < n; u++) {
                        assert_int_equal(users[u].kind, of[i].users[u].kind);
                        assert_int_equal(users[u].pid, of[i].users[u].pid);
                        assert_string_equal(users[u].device, of[i].users[u].device);
                }
                users_free(users, n);
        }
        done(&t, of);
}

/* A process that ends before its mount table is read does not hide the namespace: another one has
 * the same table. */
static void test_ended(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        tree_link(&t, "proc/39/ns/mnt", "mnt:[2]");
        assert_int_equal(users_find_each(&t.roots, of, DISKS, true), 0);
        assert_int_equal(of[1].n_users, 1);
        assert_string_equal(of[1].users[0].where, "/b");
        assert_int_equal(of[1].users[0].pid, 41);
        done(&t, of);
}

/* Without memory the list is not complete. That is an error, not a disk without users. */
static void test_no_memory(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        for (size_t i = 0; i < 2; i++) {
                make(&t, luns, of);
                if (i > 0)
                        tree_unlink(&t, "proc/1/ns/mnt"); /* then another namespace is the first */
                no_memory = true;
                assert_int_equal(users_find_each(&t.roots, of, DISKS, true), -ENOMEM);
                no_memory = false;
                tree_remove(&t);
        }
}

/* The first component that is no slice counts. Below a delegated unit any user can choose names. */
static void test_unit(void **state)
{
        static const struct {
                const char *cgroup, *unit;
        } table[] = {
                {"0::/system.slice/smbd.service\n", "smbd.service"},
                {"0::/user.slice/user-1000.slice/session-2.scope\n", "session-2.scope"},
                {"0::/uasd.service\n", "uasd.service"},
                {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/smbd.service\n",
                 "user@1000.service"},
                {"0::/machine.slice/machine-a.scope/payload/system.slice/smbd.service\n",
                 "machine-a.scope"},
                {"5:devices:/x0::/smbd.service\n1:name=systemd:/system.slice/nfs-server.service\n0::/nfs\n",
                 "nfs-server.service"},
                /* above the cgroup namespace of the reader: the first name may be that of a group
                   in a delegated one */
                {"0::/../../system.slice/smbd.service\n", NULL},
                {"0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n",
                 "postgresql@15-main.service"},
                {"0::/system.slice/docker.service/ssh.service\n", "docker.service"},
                /* A container manager has made the first group, and a container the others. */
                {"0::/lxc.payload.c1/system.slice/ssh.service\n", NULL},
                {"0::/docker/0123/system.slice/ssh.service\n", NULL},
                {"0::/system.slice/group/ssh.service\n", NULL},
                {"0::/user.slice\n", NULL},
                {"0::/\n", NULL},
                {"5:devices:/smbd.service\n", NULL},
        };
        struct users_of of[DISKS];
        struct lun luns[DISKS];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct tree t;

                make(&t, luns, of);
                tree_write(&t, "proc/41/cgroup", table[i].cgroup);
                assert_int_equal(users_find_each(&t.roots, of, DISKS, true), 0);
                if (table[i].unit)
                        assert_string_equal(of[1].users[0].unit, table[i].unit);
                else
                        assert_null(of[1].users[0].unit);
                done(&t, of);
        }
}

/* Any user can mount the same thing a thousand times in namespaces of his own. That hides neither
 * other disks nor a mount in PID 1's table. */
static void test_many(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        char *mounts = NULL;
        size_t size;
        FILE *f = open_memstream(&mounts, &size);
        struct tree t;

        assert_non_null(f);
        for (unsigned i = 0; i < 1000; i++)
                (void) fprintf(f, "%u 1 8:%u / /m%u rw - ext4 /dev/sd%c rw\n", 100 + i,
                               i % 2 ? 0U : 16U, i, i % 2 ? 'a' : 'b');
        (void) fprintf(f, "2000 1 8:32 / /elsewhere rw - ext4 /dev/sdc rw\n");
        assert_int_equal(fclose(f), 0);
        make(&t, luns, of);
        tree_write(&t, "proc/41/mountinfo", mounts);
        assert_int_equal(users_find_each(&t.roots, of, DISKS, true), 0);
        assert_int_equal(of[0].n_users, 64);
        assert_string_equal(of[0].users[0].where, "/mnt/a");
        assert_null(of[0].users[0].namespace);
        assert_int_equal(of[1].n_users, 64);
        assert_int_equal(of[2].n_users, 2);
        assert_string_equal(of[2].users[1].where, "/elsewhere");
        done(&t, of);
        free(mounts);
}

static void test_no_walk(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        assert_int_equal(users_find_each(&t.roots, of, DISKS, false), 0);
        assert_int_equal(asked, 0);
        assert_int_equal(of[1].n_users, 0);
        assert_int_equal(of[2].n_users, 1);
        done(&t, of);
}

/* If the users are unknown, no disk counts as free. */
static void test_unknown(void **state)
{
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        tree_unlink(&t, "proc/1/mountinfo");
        assert_int_equal(users_find_each(&t.roots, of, DISKS, true), -ENOENT);
        for (size_t i = 0; i < DISKS; i++)
                assert_true(!of[i].users && of[i].n_users == 0);
        done(&t, of);
}

/* A stacked device: the directory in sysfs of the device below names it. */
static void stack(struct tree *t, const char *name, const char *dev, const char *below)
{
        char path[160];

        (void) snprintf(path, sizeof(path), "sys/class/block/%s/dev", name);
        tree_write(t, path, dev);
        (void) snprintf(path, sizeof(path), "sys/class/block/%s/holders/%s", below, name);
        tree_link(t, path, "../../somewhere");
}

static void assert_users(const struct users_of *of, const char *expected)
{
        static const char *const kinds[] = {
                [USER_MOUNT] = "mount", [USER_SWAP] = "swap", [USER_HOLDER] = "holder"};
        char text[512] = "";

        for (size_t i = 0; i < of->n_users; i++)
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s%s%s",
                                i ? ", " : "", kinds[of->users[i].kind], of->users[i].device,
                                of->users[i].where ? " " : "", of->users[i].where ?: "");
        assert_string_equal(text, expected);
}

/*
 * A mirror of two disks with partitions, and on the second partition an encrypted volume group.
 * Both disks get all users above them, however deep the stack is. It also contains a ring, which no
 * kernel makes.
 */
static void test_stacked(void **state)
{
        static struct block part = {"sdb1", 8, 17};
        struct users_of of[DISKS];
        struct lun luns[DISKS];
        struct tree t;

        make(&t, luns, of);
        luns[1].parts = &part;
        luns[1].n_parts = 1;
        stack(&t, "md127", "9:127\n", "sdb1");
        stack(&t, "md127", "9:127\n", "sdc");
        tree_write(&t, "sys/class/block/md127/md127p1/partition", "1\n");
        tree_write(&t, "sys/class/block/md127/md127p2/partition", "2\n");
        tree_write(&t, "sys/class/block/md127/md/array_state", "clean\n");
        tree_write(&t, "sys/class/block/md127p1/dev", "259:1\n");
        stack(&t, "dm-0", "253:0\n", "md127p2");
        stack(&t, "dm-1", "253:1\n", "dm-0");
        stack(&t, "dm-2", "253:2\n", "dm-0");
        stack(&t, "dm-3", "253:3\n", "dm-0");
        stack(&t, "dm-4", "253:4\n", "dm-0");
        stack(&t, "dm-0", "253:0\n", "dm-1");
        tree_write(&t, "sys/class/block/dm-3/dm/name", "vg-home\n");
        tree_write(&t, "sys/class/block/dm-4/dm/name", "vg-swap\n");
        /* btrfs shows the name that it was given, perhaps that of another member. */
        tree_link(&t, "sys/fs/btrfs/1-2/devices/dm-3", "x");
        tree_write(&t, "sys/class/block/dm-8/dm/name", "elsewhere\n");
        tree_link(&t, "sys/fs/btrfs/3-4/devices/dm-8", "x");
        tree_link(&t, "sys/fs/btrfs/3-4/devices/dm-3", "x");
        tree_link(&t, "sys/fs/btrfs/5-6/devices/sdd", "x");
        /* A volume without a mount, and a volume of another disk. */
        stack(&t, "dm-5", "253:5\n", "sdd");
        stack(&t, "dm-9", "253:9\n", "vda");
        tree_write(
                &t, "proc/1/mountinfo",
                "20 1 253:1 / / rw - ext4 /dev/mapper/vg-root rw\n21 20 259:1 / /boot rw - ext4 /dev/md127p1 rw\n"
                "22 20 0:40 / /home rw - btrfs /dev/mapper/vg-home rw\n23 20 0:41 / /both rw - btrfs /dev/mapper/elsewhere rw\n"
                "24 20 253:9 / /srv rw - ext4 /dev/dm-9 rw\n25 20 0:0 / /none rw - tmpfs none rw\n");
        tree_write(&t, "proc/swaps",
                   "Filename Type Size Used Priority\n/dev/dm-2 partition 1 0 -2\n"
                   "/dev/mapper/vg-swap partition 1 0 -3\n/dev/dm-9 partition 1 0 -4\n");
        assert_int_equal(users_find_each(&t.roots, of, DISKS, false), 0);
        assert_users(&of[0], "");
        assert_users(
                &of[1],
                "mount sdb1 /, mount sdb1 /boot, mount sdb1 /home, mount sdb1 /both, swap sdb1 /dev/dm-2, swap sdb1 /dev/mapper/vg-swap, "
                "holder sdb1 md127");
        assert_users(
                &of[2],
                "mount sdc /, mount sdc /boot, mount sdc /home, mount sdc /both, swap sdc /dev/dm-2, swap sdc /dev/mapper/vg-swap, "
                "holder sdc md127");
        assert_users(&of[3], "holder sdd dm-5, holder sdd btrfs 5-6");
        for (size_t i = 0; i < DISKS; i++)
                for (size_t u = 0; u < of[i].n_users; u++)
                        assert_int_equal(of[i].users[u].btrfs, i == 3 && u == 1);
        /* The kernel does not announce that a member has left an array. */
        assert_int_equal(users_any(&t.roots, &luns[1], 1), 2);
        assert_int_equal(users_any(&t.roots, &luns[2], 1), 2);
        assert_int_equal(users_any(&t.roots, &luns[3], 1), 1);
        done(&t, of);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_walk),  cmocka_unit_test(test_as_alone),
                cmocka_unit_test(test_unit),      cmocka_unit_test(test_ended),
                cmocka_unit_test(test_no_memory), cmocka_unit_test(test_many),
                cmocka_unit_test(test_no_walk),   cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_stacked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
