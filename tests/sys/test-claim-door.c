/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How disks are claimed. Files take the place of the nodes, and inotify is the real one. tests/fake
 * has whole switches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/block/claim.h"
#include "sys/block/counts.h"
#include "tree.h"

static struct tree tree;

/* The size of a file is the minor number of its node. */
static struct block sda_parts[] = {{"sda1", 8, 17}, {"sda2", 8, 18}};
static const struct lun luns[] = {
        {.lun = 1, .disk = {"sda", 8, 16}, .parts = sda_parts, .n_parts = 2},
        {.lun = 2}, /* it has no node yet */
        {.lun = 3, .disk = {"sdb", 8, 32}},
};
#define LUNS luns, ELEMENTSOF(luns)

enum act { NOTHING, OPENS, OPENS_AND_CLOSES, WRITES };

/* Other processes. */
static const char *claimed_by_another; /* the node, or NULL */
static bool character;                 /* the nodes are no block devices */
static int strangers,
        strangers_tries;   /* opens that are not ours; after so many looks there are none */
static enum act meanwhile; /* to sda, before sdb is claimed */
static int kept = -1;      /* descriptor of another process */

static void act_on(const char *node, enum act act)
{
        int fd;

        if (act == NOTHING)
                return;
        fd = openat(tree.roots.dev, node, (act == WRITES ? O_RDWR : O_RDONLY) | O_CLOEXEC);
        assert_true(fd >= 0);
        if (act == WRITES)
                assert_int_equal(pwrite(fd, "x", 1, 0), 1);
        if (act == OPENS) {
                kept = fd;
                strangers++;
        } else
                (void) close(fd);
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...)
{
        if (flags & O_EXCL) {
                assert_int_equal(flags & O_ACCMODE,
                                 O_RDONLY); /* the close of a writer is an event for udev */
                if (claimed_by_another && streq(path, claimed_by_another)) {
                        errno = EBUSY;
                        return -1;
                }
                if (streq(path, "sdb")) {
                        enum act act = meanwhile;

                        meanwhile = NOTHING;
                        act_on("sda", act);
                }
        }
        return __real_openat64(dir, path, flags, 0600);
}

/* With _FORTIFY_SOURCE, where the flags are not constant. */
int __wrap___openat64_2(int dir, const char *path, int flags);
int __wrap___openat64_2(int dir, const char *path, int flags)
{
        return __wrap_openat64(dir, path, flags);
}

int __real_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st)
{
        int r = __real_fstat64(fd, st);

        st->st_mode = (character ? S_IFCHR : S_IFBLK) | 0600;
        st->st_rdev = makedev(8, (unsigned) st->st_size);
        return r;
}

/* The open nodes of this process. */
static int ours(void)
{
        char target[128];
        struct dirent *e;
        DIR *d = opendir("/proc/self/fd");
        int n = 0;

        assert_non_null(d);
        while ((e = readdir(d))) {
                ssize_t length = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);

                target[length > 0 ? length : 0] = '\0';
                n += strstr(target, "/dev/sd") != NULL && atoi(e->d_name) != kept;
        }
        (void) closedir(d);
        return n;
}

int __wrap_driver_opens(const struct roots *r, enum driver d);
int __wrap_driver_opens(const struct roots *r, enum driver d)
{
        assert_int_equal(d, DRIVER_UAS);
        if (strangers_tries > 0 && --strangers_tries == 0)
                strangers = 0;
        return ours() + strangers;
}

static void make(void)
{
        static const char *const names[] = {"sda", "sda1", "sda2", "sdb"};
        static const off_t sizes[] = {16, 17, 18, 32};

        tree_make(&tree);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char path[32];

                (void) snprintf(path, sizeof(path), "dev/%s", names[i]);
                tree_write(&tree, path, "");
                (void) snprintf(path, sizeof(path), "%s", names[i]);
                int fd = openat(tree.roots.dev, path, O_RDWR | O_CLOEXEC);
                assert_int_equal(ftruncate(fd, sizes[i]), 0);
                (void) close(fd);
        }
        claimed_by_another = NULL;
        character = false;
        strangers = strangers_tries = 0;
        meanwhile = NOTHING;
}

static void done(void)
{
        (void) close_keep_errno(kept);
        kept = -1;
        assert_int_equal(ours(), 0);
        tree_remove(&tree);
}

static void test_take(void **state)
{
        char busy[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;

        make();
        assert_int_equal(claim_take(&tree.roots, LUNS, &c, busy), 0);
        assert_int_equal(c.n, 4);
        assert_int_equal(ours(), 4);
        assert_true(claim_has(&c, 1) && claim_has(&c, 3) && !claim_has(&c, 2));
        for (size_t i = 0; i < c.n; i++)
                assert_int_equal(c.nodes[i].exclusive >= 0, c.nodes[i].whole);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE); /* the own opens do not count */
        act_on("sda1", OPENS_AND_CLOSES);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_OPENED);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
        act_on("sdb", WRITES);
        act_on("sda", OPENS_AND_CLOSES);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_WRITTEN);
        claim_drop(&c);
        done();
}

/* All or none, and the name of the node. */
static void test_take_errors(void **state)
{
        static const struct {
                const char *lacks, *claimed;
                bool character;
                int r;
                const char *busy; /* NULL: any */
        } table[] = {
                {NULL, "sda", false, -EBUSY, "sda"}, {NULL, "sdb", false, -EBUSY, "sdb"},
                {"sda", NULL, false, -ENOENT, NULL}, {"sda2", NULL, false, -ENOENT, NULL},
                {NULL, NULL, true, -ENODEV, "sda"},
        };
        char busy[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char path[32];

                make();
                claimed_by_another = table[i].claimed;
                character = table[i].character;
                (void) snprintf(path, sizeof(path), "dev/%s",
                                table[i].lacks ? table[i].lacks : "nothing");
                tree_unlink(&tree, path);
                assert_int_equal(claim_take(&tree.roots, LUNS, &c, busy), table[i].r);
                if (table[i].busy)
                        assert_string_equal(busy, table[i].busy);
                assert_true(!c.nodes && c.inotify == -1);
                done();
        }
        /* /dev is behind the kernel: the node has the number of another device. */
        make();
        tree_write(&tree, "dev/sdb", "another number");
        assert_int_equal(claim_take(&tree.roots, LUNS, &c, busy), -ENODEV);
        assert_string_equal(busy, "sdb");
        assert_int_equal(claim_watch(&tree.roots, LUNS, &c, busy), -ENODEV);
        assert_int_equal(
                claim_prepare(&tree.roots, LUNS, DRIVER_UAS, awake_in(USEC_PER_SEC), &c, busy),
                -ENODEV);
        done();
}

static void test_watch(void **state)
{
        char failed[BLOCK_NAME_MAX];
        struct claim c = CLAIM_NULL;

        make();
        claimed_by_another = "sda"; /* no claim is wanted */
        assert_int_equal(claim_watch(&tree.roots, LUNS, &c, failed), 0);
        assert_int_equal(c.n, 2);
        assert_false(claim_has(&c, 1) || claim_has(&c, 3));
        assert_false(c.alone);
        (void) claim_disturbed(&c);
        act_on("sda2", OPENS_AND_CLOSES);
        assert_int_equal(claim_disturbed(&c), DISTURBANCE_OPENED);
        claim_drop(&c);
        done();
}

/* Without an open of another process the partitions have no dirty pages, and stay closed. */
static void test_prepare(void **state)
{
        char busy[BLOCK_NAME_MAX];

        for (int others = 0; others < 3; others++) {
                struct claim c = CLAIM_NULL;
                int fd;

                make();
                strangers = others;
                strangers_tries = others == 2 ? 2 : 0; /* it closes the disk in between */
                assert_int_equal(claim_prepare(&tree.roots, LUNS, DRIVER_UAS,
                                               awake_in(60 * USEC_PER_SEC), &c, busy),
                                 0);
                assert_int_equal(c.alone, others == 0);
                assert_int_equal(c.n, others == 0 ? 2 : 4);
                assert_false(claim_has(&c, 1) || claim_has(&c, 3));
                assert_int_equal(claim_disturbed(&c), DISTURBANCE_NONE);
                for (const char *const *name = (const char *const[]){"sda", "sdb", NULL}; *name;
                     name++) {
                        fd = openat(tree.roots.dev, *name, O_RDONLY | O_CLOEXEC);
                        assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
                        (void) close(fd);
                }
                claim_drop(&c);
                done();
        }
}

/* udev's worker has the lock. */
static void test_prepare_locked(void **state)
{
        char busy[BLOCK_NAME_MAX];

        for (const char *const *name = (const char *const[]){"sda", "sdb", NULL}; *name; name++) {
                struct claim c = CLAIM_NULL;

                make();
                kept = openat(tree.roots.dev, *name, O_RDONLY | O_CLOEXEC);
                assert_int_equal(flock(kept, LOCK_SH), 0);
                assert_int_equal(claim_prepare(&tree.roots, LUNS, DRIVER_UAS,
                                               awake_in(USEC_PER_SEC / 20), &c, busy),
                                 -ETIMEDOUT);
                assert_string_equal(busy, *name);
                assert_null(c.nodes);
                done();
        }
}

static void test_close_door(void **state)
{
        static const struct {
                const char *what;
                enum act before, meanwhile;
                const char *claimed;
                /* opens that the caller did not count; unknown: it could not count */
                int more, unknown;
                int r;
        } table[] = {
                {"no process", NOTHING, NOTHING, NULL, 0, 0, 0},
                {"one before", OPENS_AND_CLOSES, NOTHING, NULL, 0, 0, -EAGAIN},
                {"it writes", WRITES, NOTHING, NULL, 0, 0, -ESTALE},
                {"one meanwhile", NOTHING, OPENS_AND_CLOSES, NULL, 0, 0, -EAGAIN},
                {"it stays", NOTHING, OPENS, NULL, 0, 0, -EAGAIN},
                {"it writes meanwhile", NOTHING, WRITES, NULL, 0, 0, -ESTALE},
                {"the count shows one", NOTHING, NOTHING, NULL, 1, 0, -EAGAIN},
                {"it is built in, and has no count", NOTHING, NOTHING, NULL, 0, 1, 0},
                {"claimed by another", NOTHING, NOTHING, "sda", 0, 0, -EBUSY},
                {"the second one is", NOTHING, NOTHING, "sdb", 0, 0, -EBUSY},
        };
        char busy[BLOCK_NAME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct claim c = CLAIM_NULL;
                int opens, r, before;

                make();
                assert_int_equal(claim_prepare(&tree.roots, LUNS, DRIVER_UAS,
                                               awake_in(60 * USEC_PER_SEC), &c, busy),
                                 0);
                before = ours();
                opens = table[i].unknown ? -ENOENT : before;
                strangers = table[i].more;
                claimed_by_another = table[i].claimed;
                act_on("sda", table[i].before);
                meanwhile = table[i].meanwhile;
                r = claim_close_door(&tree.roots, DRIVER_UAS, opens, &c, busy);
                if (r != table[i].r || claim_has(&c, 1) != (r == 0) ||
                    claim_has(&c, 3) != (r == 0) || ours() != before + 2 * (r == 0))
                        fail_msg("%s: %i, %i open", table[i].what, r, ours());
                if (r == -EBUSY)
                        assert_string_equal(busy, table[i].claimed);
                if (r == 0) { /* and again, as in a repeat */
                        claim_let_go(&c, 1);
                        claim_let_go(&c, 3);
                        assert_int_equal(ours(), before);
                }
                claim_drop(&c);
                done();
        }
}

/* An open of which no list knows may end in a moment. Our own partitions are not counted, and are
 * open again afterwards. */
static void test_strangers(void **state)
{
        static const struct {
                int strangers, tries; /* after so many looks it has ended; 0: it stays */
                bool found;
        } table[] = {{0, 0, false}, {1, 0, true}, {1, 3, false}};
        char busy[BLOCK_NAME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct claim c = CLAIM_NULL;

                make();
                assert_int_equal(claim_take(&tree.roots, LUNS, &c, busy), 0);
                strangers = table[i].strangers;
                strangers_tries = table[i].tries;
                assert_int_equal(claim_has_strangers(&tree.roots, LUNS, DRIVER_UAS, &c),
                                 table[i].found);
                assert_int_equal(c.n, 4);
                claim_close_partitions(&c);
                assert_int_equal(claim_has_strangers(&tree.roots, LUNS, DRIVER_UAS, &c),
                                 table[i].found);
                assert_int_equal(c.n, 2); /* they were closed before */
                claim_drop(&c);
                done();
        }

        struct claim c = CLAIM_NULL;

        make();
        assert_int_equal(claim_take(&tree.roots, LUNS, &c, busy), 0);
        tree_unlink(&tree, "dev/sda2");
        assert_true(claim_has_strangers(&tree.roots, LUNS, DRIVER_UAS,
                                        &c)); /* what cannot be opened again cannot be synced */
        claim_drop(&c);
        done();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_take),           cmocka_unit_test(test_take_errors),
                cmocka_unit_test(test_watch),          cmocka_unit_test(test_prepare),
                cmocka_unit_test(test_prepare_locked), cmocka_unit_test(test_close_door),
                cmocka_unit_test(test_strangers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
