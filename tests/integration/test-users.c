/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/users/users.h"

/*
 * Looks by name on the kernel of this machine. A tmpfs in its own mount namespace replaces the file
 * system of a disk, which uasd knows by its device number.
 */

enum spot {
        MOUNTED,  /* in its own namespace, by a process that is in another directory */
        DETACHED, /* mounted, then detached with the process inside */
};

struct guest {
        pid_t pid;
        struct lun lun;
        char dir[32];
};

/* In a new mount namespace. */
static bool mount_tmpfs(const char *dir)
{
        return unshare(CLONE_NEWNS) >= 0 &&
               mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) >= 0 &&
               mount("none", dir, "tmpfs", 0, NULL) >= 0;
}

static void on_signal(int signal)
{
}

static void unmount_when_told(const char *dir)
{
        (void) pause();
        (void) umount2(dir, 0);
        for (;;)
                (void) pause();
}

static void live(const struct guest *g, enum spot place, int out)
{
        struct stat st = {0};

        (void) signal(SIGUSR1, on_signal);
        if (!mount_tmpfs(g->dir) || stat(g->dir, &st) < 0)
                _exit(1);
        if (place == DETACHED && (chdir(g->dir) < 0 || umount2(g->dir, MNT_DETACH) < 0))
                _exit(1);
        (void) !write(out, &st, sizeof(st));
        unmount_when_told(g->dir);
}

static bool guest_begin(struct guest *g, enum spot place)
{
        struct stat st;
        int fds[2];
        bool good;

        *g = (struct guest){.dir = "/tmp/uasd-users.XXXXXX", .lun.disk.name = "sdz"};
        assert_non_null(mkdtemp(g->dir));
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        g->pid = fork();
        if (g->pid == 0)
                live(g, place, fds[1]);
        (void) close(fds[1]);
        good = read(fds[0], &st, sizeof(st)) == sizeof(st);
        (void) close(fds[0]);
        g->lun.disk.major = good ? major(st.st_dev) : 0;
        g->lun.disk.minor = good ? minor(st.st_dev) : 0;
        return good; /* otherwise there is no permission here */
}

static void guest_end(struct guest *g)
{
        if (g->pid > 0) {
                (void) kill(g->pid, SIGKILL);
                (void) waitpid(g->pid, NULL, 0);
        }
        g->pid = 0;
        (void) rmdir(g->dir);
}

static bool told_within(int inotify, int msec)
{
        return poll(&(struct pollfd){inotify, POLLIN, 0}, 1, msec) > 0;
}

/* Another test may mount a file system meanwhile, and get the device number that the guest's had.
 */
static bool uses(const struct user *users, size_t n, pid_t pid)
{
        for (size_t i = 0; i < n; i++)
                if (users[i].pid == pid)
                        return true;
        return false;
}

static void looks(enum spot place, int how_it_ends)
{
        struct roots r = ROOTS_NULL;
        struct user *users = NULL;
        struct guest g;
        size_t n = 0;
        pid_t pid;
        int inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

        assert_true(roots_open(&r, NULL) >= 0 && inotify >= 0);
        if (!guest_begin(&g, place)) {
                guest_end(&g);
                skip();
        }
        /* The quick look finds no user. */
        assert_int_equal(users_any(&r, &g.lun, 1), 0);
        assert_int_equal(users_find(&r, &g.lun, 1, false, &users, &n), 0);
        assert_int_equal(n, 0);
        users_free(users, n);

        assert_int_equal(users_find(&r, &g.lun, 1, true, &users, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(users[0].kind, place == MOUNTED ? USER_MOUNT : USER_OPEN);
        assert_string_equal(users[0].device, "sdz");
        assert_int_equal(users[0].pid, g.pid);
        assert_string_equal(users[0].command, "test-users");
        if (place == MOUNTED) {
                assert_string_equal(users[0].where, g.dir);
                assert_int_equal(strncmp(users[0].namespace, "mnt:[", 5), 0);
                /* Another file system is mounted there now. The kernel will not announce the end of
                 * this one. */
                users[0].mount_id++;
                assert_false(users_told(&r, &g.lun, 1, inotify, users, n));
                users[0].mount_id--;
        }
        assert_true(users_told(&r, &g.lun, 1, inotify, users, n));
        assert_false(told_within(inotify, 50));
        pid = g.pid;
        assert_int_equal(kill(pid, how_it_ends), 0);
        if (how_it_ends == SIGKILL)
                (void) waitpid(g.pid, NULL, 0);
        assert_true(told_within(inotify, 5000));
        if (how_it_ends == SIGKILL)
                g.pid = 0;
        users_free(users, n);
        assert_int_equal(users_find(&r, &g.lun, 1, true, &users, &n), 0);
        assert_false(uses(users, n, pid));
        users_free(users, n);
        guest_end(&g);
        (void) close(inotify);
        roots_close(&r);
}

static void test_elsewhere_until_the_end(void **state)
{
        looks(MOUNTED, SIGKILL);
}

static void test_elsewhere_until_unmounted(void **state)
{
        looks(MOUNTED, SIGUSR1);
}

static void test_detached(void **state)
{
        looks(DETACHED, SIGKILL);
}

/* A thread uses the disk: its main thread has ended, or it has open files or mounts of its own. */
enum thread {
        SHARED,
        ENDED,
        FILES,
        MOUNTS,
};

struct worker {
        enum thread how;
        char dir[32];
        int out;
};

static bool main_has_ended(void)
{
        char text[256] = "";
        _cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

        return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strstr(text, ") Z ");
}

static void *work(void *data)
{
        const struct worker *w = data;
        struct stat st = {0};

        if ((w->how == FILES && unshare(CLONE_FILES) < 0) ||
            (w->how == MOUNTS && !mount_tmpfs(w->dir)))
                _exit(1);
        while (w->how == ENDED && !main_has_ended())
                (void) sched_yield();
        if (w->how == MOUNTS ? stat(w->dir, &st) < 0
                             : fstat(open(w->dir, O_TMPFILE | O_RDWR, 0600), &st) < 0 ||
                                       umount2(w->dir, MNT_DETACH) < 0)
                _exit(1);
        (void) !write(w->out, &st, sizeof(st));
        for (;;)
                (void) pause();
        return NULL;
}

static void *idle(void *data)
{
        for (;;)
                (void) pause();
        return NULL;
}

static void run_threads(struct worker *w)
{
        pthread_t threads[3];

        if (!mount_tmpfs(w->dir) || pthread_create(&threads[0], NULL, idle, w) != 0 ||
            pthread_create(&threads[1], NULL, work, w) != 0 ||
            pthread_create(&threads[2], NULL, idle, w) != 0)
                _exit(1);
        if (w->how == ENDED)
                pthread_exit(NULL);
        (void) idle(w);
}

static void thread_found(enum thread how)
{
        struct worker w = {.how = how, .dir = "/tmp/uasd-users.XXXXXX"};
        struct lun lun = {.disk.name = "sdz"};
        struct roots r = ROOTS_NULL;
        struct user *users = NULL;
        size_t n = 0;
        struct stat st;
        int fds[2];
        bool good;
        pid_t pid;

        assert_true(roots_open(&r, NULL) >= 0);
        assert_non_null(mkdtemp(w.dir));
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        w.out = fds[1];
        pid = fork();
        if (pid == 0)
                run_threads(&w);
        (void) close(fds[1]);
        good = read(fds[0], &st, sizeof(st)) == sizeof(st);
        (void) close(fds[0]);
        lun.disk.major = good ? major(st.st_dev) : 0;
        lun.disk.minor = good ? minor(st.st_dev) : 0;
        assert_int_equal(users_find(&r, &lun, 1, true, &users, &n), 0);
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        (void) rmdir(w.dir);
        roots_close(&r);
        if (!good) {
                users_free(users, n); /* of a loop device of this machine */
                skip();               /* there is no permission here */
        }
        assert_int_equal(n, 1);
        assert_int_equal(users[0].kind, how == MOUNTS ? USER_MOUNT : USER_OPEN);
        assert_int_equal(users[0].pid, pid);
        assert_string_equal(users[0].command, "test-users");
        users_free(users, n);
}

static void test_threads(void **state)
{
        for (enum thread how = SHARED; how <= MOUNTS; how++)
                thread_found(how);
}

/* A process has the disk open by a node of the same number in another place, as in a chroot. */
static void test_other_node(void **state)
{
        char dir[] = "/tmp/uasd-users.XXXXXX", node[sizeof(dir) + 5], path[16], byte;
        struct lun lun = {.disk.name = "sdz", .disk.major = 7};
        struct loop_info64 info;
        struct roots r = ROOTS_NULL;
        struct user *users = NULL;
        size_t n = 0;
        int fds[2], fd = -1;
        bool good;
        pid_t pid;

        assert_non_null(mkdtemp(dir));
        (void) snprintf(node, sizeof(node), "%s/node", dir);
        /* A loop device without a file can be opened. One with a file may have users. */
        for (; fd < 0 && lun.disk.minor < 64; lun.disk.minor++) {
                (void) unlink(node);
                if (mknod(node, S_IFBLK | 0600, makedev(7, lun.disk.minor)) < 0)
                        break;
                fd = open(node, O_RDONLY | O_CLOEXEC);
                if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) >= 0) {
                        (void) close(fd);
                        fd = -1;
                }
        }
        good = fd >= 0;
        lun.disk.minor--;
        (void) close(fd);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = good ? fork() : -1;
        if (pid == 0) {
                if (open(node, O_RDONLY | O_CLOEXEC) < 0)
                        _exit(1);
                (void) !write(fds[1], "", 1);
                (void) idle(NULL);
        }
        (void) close(fds[1]);
        good = good && read(fds[0], &byte, 1) == 1;
        (void) close(fds[0]);
        assert_true(roots_open(&r, NULL) >= 0);
        if (good)
                assert_int_equal(users_find(&r, &lun, 1, true, &users, &n), 0);
        if (pid > 0) {
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
        }
        (void) unlink(node);
        (void) rmdir(dir);
        roots_close(&r);
        if (!good)
                skip(); /* there is no permission here, or no loop device */
        (void) snprintf(path, sizeof(path), "%i/fd/", (int) pid);
        assert_int_equal(n, 1);
        assert_int_equal(users[0].kind, USER_OPEN);
        assert_int_equal(users[0].pid, pid);
        assert_int_equal(strncmp(users[0].via, path, strlen(path)), 0);
        users_free(users, n);
}

static void test_told(void **state)
{
        static const struct {
                struct user users[2];
                size_t n;
                bool told;
        } table[] = {
                {{{.kind = USER_MOUNT, .device = "sdz1"}}, 1, true},
                {{{.kind = USER_SWAP, .device = "sdz1"}, {.kind = USER_HOLDER, .device = "sdz"}},
                 2,
                 true},
                {{{.kind = USER_LOOP, .device = "sdz1"}, {.kind = USER_CLAIM, .device = "sdz"}},
                 2,
                 false},
                {{{.kind = USER_LOOP, .device = "sdz1", .where = (char *) "loop1"}}, 1, true},
                {{{.kind = USER_LOOP, .device = "sdz1", .where = (char *) "loop1", .unsure = true}},
                 1,
                 false},
                {{{.kind = USER_OPEN, .device = "sdz1"}},
                 1,
                 false}, /* there is no way to its open file */
                {{{.kind = USER_HOLDER, .device = "sdz1", .where = (char *) "dm-0"}}, 1, true},
                {{{.kind = USER_HOLDER, .device = "sdz1", .where = (char *) "md127"}}, 1, false},
                {{{.kind = USER_HOLDER,
                   .device = "sdz1",
                   .where = (char *) "btrfs 1-2",
                   .btrfs = true}},
                 1,
                 false},
                {{{.kind = USER_HOLDER,
                   .device = "sdz1",
                   .where = (char *) "btrfs 1-2",
                   .btrfs = true},
                  {.kind = USER_MOUNT, .device = "sdz1"}},
                 2,
                 true},
                {{{.kind = USER_MOUNT, .device = "", .namespace = (char *) "mnt:[1]", .pid = 0}},
                 1,
                 false},
                {{{.kind = USER_MOUNT}}, 0, false},
        };
        struct roots r = ROOTS_NULL;

        assert_true(roots_open(&r, NULL) >= 0);
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (users_told(&r, NULL, 0, -1, table[i].users, table[i].n) != table[i].told)
                        fail_msg("row %zu", i);
        roots_close(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_elsewhere_until_the_end),
                cmocka_unit_test(test_elsewhere_until_unmounted),
                cmocka_unit_test(test_detached),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_other_node),
                cmocka_unit_test(test_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
