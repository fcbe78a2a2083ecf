/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loop devices on the kernel of this machine. One replaces a disk, another one is on top of it.
 * Skipped without permission to attach them. */
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/users/users.h"

static bool silent; /* the kernel does not answer */

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
        while (silent && request == LOOP_GET_STATUS64)
                (void) pause();
        return __real_ioctl(fd, request, argument);
}

/* The number of a loop device over this file, or -1. */
static int attach(const char *file)
{
        _cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC),
                            over = open(file, O_RDWR | O_CLOEXEC);

        for (int tries = 0; control >= 0 && over >= 0 && tries < 20; tries++) {
                int number = __real_ioctl(control, LOOP_CTL_GET_FREE, NULL), r;
                char path[32];

                (void) snprintf(path, sizeof(path), "/dev/loop%i", number);
                _cleanup_close_ int fd = number < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);

                r = fd < 0 ? -1 : __real_ioctl(fd, LOOP_SET_FD, (void *) (intptr_t) over);
                if (r >= 0)
                        return number;
                if (errno != EBUSY) /* otherwise another process was faster */
                        break;
        }
        return -1;
}

static void detach(int number)
{
        char path[32];

        (void) snprintf(path, sizeof(path), "/dev/loop%i", number);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd >= 0)
                (void) __real_ioctl(fd, LOOP_CLR_FD, NULL);
}

struct scene {
        char dir[32], image[48];
        struct roots roots;
        struct lun lun;
        int disk, upper;
};

static bool scene_make(struct scene *s)
{
        int fd;

        *s = (struct scene){.dir = "/tmp/uasd-loops.XXXXXX", .upper = -1};
        assert_non_null(mkdtemp(s->dir));
        (void) snprintf(s->image, sizeof(s->image), "%s/image", s->dir);
        fd = open(s->image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && ftruncate(fd, 1 << 20) >= 0);
        (void) close(fd);
        assert_true(roots_open(&s->roots, NULL) >= 0);
        s->disk = attach(s->image);
        (void) snprintf(s->lun.disk.name, sizeof(s->lun.disk.name), "loop%i", s->disk);
        s->lun.disk.major = 7;
        s->lun.disk.minor = (unsigned) s->disk;
        return s->disk >= 0;
}

static void scene_end(struct scene *s)
{
        if (s->upper >= 0)
                detach(s->upper);
        if (s->disk >= 0)
                detach(s->disk);
        (void) unlink(s->image);
        (void) rmdir(s->dir);
        roots_close(&s->roots);
        silent = false;
}

enum way {
        BY_NAME,  /* the node in /dev */
        BY_MKNOD, /* another node with the same number */
        BY_FILE,  /* a file of a file system that is not mounted any more */
};

/* In a mount namespace that is gone when this returns: the number of the loop device, or -1. */
static int attach_elsewhere(struct scene *s, enum way way)
{
        char file[64];
        struct stat st = {0};
        int fds[2], number = -1;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                (void) snprintf(file, sizeof(file), "%s/%s", s->dir, s->lun.disk.name);
                if (unshare(CLONE_NEWNS) < 0 ||
                    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                    mount("none", s->dir, "tmpfs", 0, NULL) < 0 || stat(s->dir, &st) < 0 ||
                    mknod(file, way == BY_FILE ? S_IFREG | 0600 : S_IFBLK | 0600,
                          makedev(7, s->disk)) < 0 ||
                    (way == BY_FILE && truncate(file, 1 << 20) < 0))
                        _exit(1);
                number = attach(file);
                (void) !write(fds[1], &number, sizeof(number));
                (void) !write(fds[1], &st.st_dev, sizeof(st.st_dev));
                _exit(0);
        }
        (void) close(fds[1]);
        if (read(fds[0], &number, sizeof(number)) != sizeof(number) ||
            read(fds[0], &st.st_dev, sizeof(st.st_dev)) != sizeof(st.st_dev))
                number = -1;
        (void) close(fds[0]);
        (void) waitpid(pid, NULL, 0);
        if (way == BY_FILE) {
                s->lun.disk.major = major(st.st_dev);
                s->lun.disk.minor = minor(st.st_dev);
        }
        return number;
}

static void assert_loop(const struct scene *s, bool deep, bool found, bool unsure)
{
        struct user *users = NULL;
        char name[16];
        size_t n = 0, loops = 0;

        (void) snprintf(name, sizeof(name), "loop%i", s->upper);
        assert_int_equal(users_find(&s->roots, &s->lun, 1, deep, &users, &n), 0);
        if (!silent) /* a child that has answered is reaped */
                assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        for (size_t i = 0; i < n; i++) {
                if (users[i].kind != USER_LOOP || !streq(users[i].where, name))
                        continue;
                loops++;
                assert_string_equal(users[i].device, s->lun.disk.name);
                assert_int_equal(users[i].unsure, unsure);
                assert_int_equal(users_told(&s->roots, &s->lun, 1, -1, &users[i], 1), !unsure);
        }
        assert_int_equal(loops, found);
        users_free(users, n);
}

static void found(enum way way)
{
        char path[48];
        struct scene s;

        if (!scene_make(&s)) {
                scene_end(&s);
                skip();
        }
        (void) snprintf(path, sizeof(path), "/dev/%s", s.lun.disk.name);
        s.upper = way == BY_NAME ? attach(path) : attach_elsewhere(&s, way);
        assert_true(s.upper >= 0);
        assert_int_equal(users_any(&s.roots, &s.lun, 1), way == BY_NAME);
        assert_loop(&s, false, way == BY_NAME, false);
        assert_loop(&s, true, true, false);
        detach(s.upper);
        assert_loop(&s, true, false, false);
        s.upper = -1;
        scene_end(&s);
}

static void test_by_name(void **state)
{
        found(BY_NAME);
}

static void test_by_mknod(void **state)
{
        found(BY_MKNOD);
}

static void test_by_file(void **state)
{
        found(BY_FILE);
}

/* The loop device of another disk, to which a container gives this disk's name. */
static void test_same_name(void **state)
{
        struct scene s;

        if (!scene_make(&s)) {
                scene_end(&s);
                skip();
        }
        s.upper = attach_elsewhere(&s, BY_MKNOD);
        assert_true(s.upper >= 0);
        s.lun.disk.minor += 1000;
        assert_loop(&s, true, false, false);
        scene_end(&s);
}

static void test_no_answer(void **state)
{
        struct timespec from, to;
        struct scene s;

        if (!scene_make(&s)) {
                scene_end(&s);
                skip();
        }
        s.upper = attach_elsewhere(&s, BY_MKNOD);
        assert_true(s.upper >= 0);
        silent = true;
        (void) clock_gettime(CLOCK_MONOTONIC, &from);
        assert_loop(&s, true, true, true);
        (void) clock_gettime(CLOCK_MONOTONIC, &to);
        assert_in_range(to.tv_sec - from.tv_sec, 0, 20); /* one second, not forever */
        /* Without its node uasd cannot ask the kernel. */
        silent = false;
        assert_true(waitpid(-1, NULL, 0) > 0); /* it was killed */
        (void) close(s.roots.dev);
        s.roots.dev = open(s.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_loop(&s, true, true, true);
        scene_end(&s);
}

static void write_file(const char *dir, const char *name, const char *text)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "%s/%s", dir, name);
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

/* Swap on a node of the disk that is not the one in /dev. */
static void test_swap(void **state)
{
        char node[48], below[48], table[160];
        struct user *users = NULL;
        struct scene s;
        size_t n = 0;
        int made;

        if (!scene_make(&s)) {
                scene_end(&s);
                skip();
        }
        (void) snprintf(node, sizeof(node), "%s/node", s.dir);
        (void) snprintf(below, sizeof(below), "%s/1", s.dir);
        made = mknod(node, S_IFBLK | 0600, makedev(7, s.disk));
        assert_true(mkdir(below, 0700) >= 0);
        write_file(below, "mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
        (void) snprintf(table, sizeof(table),
                        "Filename Type Size Used Priority\n%s file 1 0 -2\n%s partition 1 0 -3\n",
                        s.image, node);
        write_file(s.dir, "swaps", table);
        (void) close(s.roots.proc);
        s.roots.proc = open(s.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(users_find(&s.roots, &s.lun, 1, false, &users, &n), 0);
        (void) unlink(node);
        (void) snprintf(table, sizeof(table), "%s/mountinfo", below);
        (void) unlink(table);
        (void) rmdir(below);
        (void) snprintf(table, sizeof(table), "%s/swaps", s.dir);
        (void) unlink(table);
        scene_end(&s);
        assert_true(made >= 0);
        assert_int_equal(n, 1);
        assert_int_equal(users[0].kind, USER_SWAP);
        assert_string_equal(users[0].device, s.lun.disk.name);
        users_free(users, n);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_name),   cmocka_unit_test(test_by_mknod),
                cmocka_unit_test(test_by_file),   cmocka_unit_test(test_same_name),
                cmocka_unit_test(test_no_answer), cmocka_unit_test(test_swap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
