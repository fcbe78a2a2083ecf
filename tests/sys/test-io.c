/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes, small files, directories and locks: what each function returns, and what it leaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../patience.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "tree.h"

static void assert_errors(ssize_t (*fn)(int dirfd, const char *path, char *ret, size_t size),
                          struct tree *t, const char *path, int error)
{
        char text[8] = "before";

        assert_int_equal(fn(t->roots.sys, path, text, sizeof(text)), error);
        assert_string_equal(text, "before");
}

static void test_read(void **state)
{
        static const struct {
                const char *text, *read;
        } table[] = {
                {"", ""},
                {"\n", ""},
                {"\n\n", "\n"},
                {"abc", "abc"},
                {"abc\n", "abc"},
                {"1234567", "1234567"},
                {"123456\n", "123456"},
                {"12345678", "1234567"},
        };
        struct tree t;
        char text[8];

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                tree_write(&t, "sys/x", table[i].text);
                assert_int_equal(attr_read(t.roots.sys, "x", text, sizeof(text)),
                                 strlen(table[i].read));
                assert_string_equal(text, table[i].read);
        }
        assert_int_equal(attr_read_binary(t.roots.sys, "x", text, 3), 3);
        assert_errors(attr_read, &t, "nothing", -ENOENT);
        assert_errors(attr_read, &t, "bus", -EISDIR);
        tree_remove(&t);
}

static void test_numbers(void **state)
{
        static const struct {
                const char *text;
                unsigned base;
                int r;
                uint64_t v;
        } table[] = {
                {"0\n", 10, 0, 0},
                {" 7\n", 10, 0, 7},
                {"   7", 10, 0, 7},
                {"10\n", 16, 0, 16},
                {"0x1f\n", 16, 0, 31},
                {" 0x1f\n", 16, 0, 31},
                {"x1f\n", 16, -EINVAL, 5},
                {"1x1f\n", 16, -EINVAL, 5},
                {"0x1f\n", 10, -EINVAL, 5},
                {"\n", 10, -EINVAL, 5},
                {"7 8\n", 10, -EINVAL, 5},
                {"-1\n", 10, -EINVAL, 5},
                {"18446744073709551615\n", 10, 0, UINT64_MAX},
                {"18446744073709551616\n", 10, -ERANGE, 5},
        };
        struct tree t;
        uint64_t v = 5;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int r;

                v = 5;
                tree_write(&t, "sys/x", table[i].text);
                r = attr_read_uint(t.roots.sys, "x", table[i].base, &v);
                if (r != table[i].r || v != table[i].v)
                        fail_msg("%s: %i %llu", table[i].text, r, (unsigned long long) v);
        }
        assert_int_equal(attr_read_uint(t.roots.sys, "nothing", 10, &v), -ENOENT);
        tree_remove(&t);
}

static void test_write(void **state)
{
        struct tree t;

        tree_make(&t);
        tree_write(&t, "sys/x", "longer than that");
        assert_int_equal(attr_write(t.roots.sys, "x", "on"), 0);
        assert_string_equal(tree_read(&t, "sys/x"), "on");
        assert_int_equal(attr_write(t.roots.sys, "nothing", "on"), -ENOENT);
        assert_false(tree_exists(&t, "sys/nothing"));
        assert_int_equal(attr_write(AT_FDCWD, "/dev/full", "on"), -ENOSPC);
        tree_remove(&t);
}

static void test_link(void **state)
{
        char longest[PATH_MAX];
        struct tree t;

        tree_make(&t);
        tree_link(&t, "sys/a", "../x/uas");
        tree_link(&t, "sys/b", "uas");
        tree_link(&t, "sys/c", "1234567");
        tree_link(&t, "sys/d", "x/12345678");
        memset(longest, 'x', sizeof(longest) - 2);
        memcpy(longest + sizeof(longest) - 6, "/uas", 5);
        for (const char *name = "abe"; *name; name++) {
                char path[] = "a", text[8];

                path[0] = *name;
                if (*name == 'e')
                        assert_int_equal(symlinkat(longest, t.roots.sys, path), 0);
                assert_int_equal(link_basename(t.roots.sys, path, text, sizeof(text)), 3);
                assert_string_equal(text, "uas");
        }
        assert_errors(link_basename, &t, "nothing", -ENOENT);
        assert_errors(link_basename, &t, "bus", -EINVAL);
        assert_int_equal(link_basename(t.roots.sys, "c", (char[8]){0}, 8), 7);
        assert_int_equal(link_basename(t.roots.sys, "d", (char[8]){0}, 8), -ENAMETOOLONG);
        tree_remove(&t);
}

/* ---- directories ---- */

struct seen {
        char text[256];
        const char *stop; /* at this name */
        int result;
};

static int see(const char *name, void *data)
{
        struct seen *s = data;

        (void) snprintf(s->text + strlen(s->text), sizeof(s->text) - strlen(s->text), "%s ", name);
        return s->stop && streq(name, s->stop) ? s->result : 0;
}

static void test_each(void **state)
{
        static const struct {
                const char *prefix, *stop;
                int result;
                const char *seen, *listed;
        } table[] = {
                {"", NULL, 0, "a b10 b2 c ", "a b10 b2 c "},
                {"b", NULL, 0, "a b10 b2 c ", "b10 b2 "},
                {"", "b10", 1, "a b10 ", "a b10 b2 c "},
                {"x", "a", -EBUSY, "a ", ""},
        };
        struct tree t;

        tree_make(&t);
        for (const char *const *name =
                     (const char *const[]){"c", "b2", ".hidden", "b10", "a", NULL};
             *name; name++) {
                char path[32];

                (void) snprintf(path, sizeof(path), "sys/d/%s/x", *name);
                tree_write(&t, path, "");
        }
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct seen s = {.stop = table[i].stop, .result = table[i].result}, listed = {};
                char **names = NULL;
                int n = dir_list(t.roots.sys, "d", table[i].prefix, &names);

                assert_true(n >= 0);
                for (int at = 0; at < n; at++)
                        (void) see(names[at], &listed);
                strv_free(names);
                assert_string_equal(listed.text, table[i].listed);
                assert_int_equal(dir_each(t.roots.sys, "d", see, &s), table[i].result);
                assert_string_equal(s.text, table[i].seen);
        }
        assert_int_equal(dir_list(t.roots.sys, "nothing", "", &(char **){NULL}), -ENOENT);
        assert_int_equal(dir_each(t.roots.sys, "nothing", see, NULL), -ENOENT);
        assert_int_equal(dir_each(t.roots.sys, "d/a/x", see, NULL), -ENOTDIR);
        tree_remove(&t);
}

static int see_dropin(int root, const char *path, void *data)
{
        struct stat st;

        assert_int_equal(fstatat(root, path, &st, 0), 0);
        return st.st_size == 7 ? see("stop", data) : see(path, data);
}

static void test_dropins(void **state)
{
        struct seen s = {};
        struct tree t;

        tree_make(&t);
        assert_int_equal(dropins_each(&t.roots, "x.d", see_dropin, &s), 0);
        assert_string_equal(s.text, "");
        tree_write(&t, "usr/lib/x.d/20-b.conf", "");
        tree_write(&t, "usr/lib/x.d/30-c.conf", "7 bytes");
        tree_write(&t, "usr/lib/x.d/40-d.conf", "");
        tree_write(&t, "usr/lib/x.d/x.confx", "");
        tree_write(&t, "usr/lib/x.d/xconf", "");
        tree_write(&t, "etc/x.d/a.conf", "");
        tree_write(&t, "etc/x.d/10-a.conf", "");
        tree_write(&t, "etc/x.d/30-c.conf", "hides it");
        tree_write(&t, "etc/x.d/.conf", "");
        assert_int_equal(dropins_each(&t.roots, "x.d", see_dropin, &s), 0);
        assert_string_equal(s.text,
                            "x.d/10-a.conf x.d/20-b.conf x.d/30-c.conf x.d/40-d.conf x.d/a.conf ");
        tree_unlink(&t, "etc/x.d/30-c.conf");
        s = (struct seen){.stop = "stop", .result = -EBUSY};
        assert_int_equal(dropins_each(&t.roots, "x.d", see_dropin, &s), -EBUSY);
        assert_string_equal(s.text, "x.d/10-a.conf x.d/20-b.conf stop ");
        s = (struct seen){.stop = "stop", .result = 1};
        assert_int_equal(dropins_each(&t.roots, "x.d", see_dropin, &s), 0);
        tree_remove(&t);
}

static void test_roots(void **state)
{
        struct roots r = ROOTS_NULL;
        struct tree t;
        char path[128];

        tree_make(&t);
        (void) snprintf(path, sizeof(path), "%s/var/log", t.path);
        assert_int_equal(roots_open(&r, path), -ENOENT);
        assert_int_equal(r.run, -1);
        tree_write(&t, "var/log/sys/x", "");
        tree_write(&t, "var/log/proc/sys/kernel/osrelease", "6.1.0\n");
        assert_int_equal(roots_open(&r, path), 0);
        tree_write(&t, "var/log/proc/sys/kernel/osrelease", "read once\n");
        assert_string_equal(r.kernel, "6.1.0");
        assert_true(r.sys >= 0 && r.run == -1 && r.var == -1);
        roots_reopen_var(&r, path);
        assert_int_equal(r.var, -1);
        tree_write(&t, "var/log/var/x", "");
        roots_reopen_var(&r, path);
        assert_int_equal(faccessat(r.var, "x", F_OK, 0), 0);
        tree_write(&t, "var/log/var/y", "");
        roots_reopen_var(&r, "/nowhere"); /* the former one stays */
        assert_int_equal(faccessat(r.var, "y", F_OK, 0), 0);
        assert_int_equal(fcntl(r.var, F_GETFD), FD_CLOEXEC);
        roots_close(&r);
        assert_true(r.sys == -1 && r.var == -1);
        tree_remove(&t);
}

static void test_boot(void **state)
{
        static const struct {
                const char *cmdline;
                bool off, early; /* in the root file system, in the initramfs */
        } table[] = {
                {"", false, false},
                {"quiet uasd=off\n", true, true},
                {"uasd=off quiet", true, true},
                {"uasd=offx", false, false},
                {"xuasd=off", false, false},
                {"quiet rd.uasd=off", false, true},
                {"rd.uasd=of uasd=of", false, false},
                {"rdxuasd=off", false, false},
        };
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                tree_write(&t, "proc/cmdline", table[i].cmdline);
                assert_false(in_initramfs(&t.roots));
                assert_int_equal(cmdline_has(&t.roots, "uasd=off"), table[i].off);
                tree_write(&t, "etc/initrd-release", "");
                assert_true(in_initramfs(&t.roots));
                assert_int_equal(cmdline_has(&t.roots, "uasd=off"), table[i].early);
                tree_unlink(&t, "etc/initrd-release");
        }
        tree_write(&t, "etc/uasd/initramfs", "");
        assert_true(in_initramfs(&t.roots));
        tree_unlink(&t, "proc/cmdline");
        assert_false(cmdline_has(&t.roots, "uasd=off"));
        tree_remove(&t);
}

static void test_command(void **state)
{
        static const char *const table[][2] = {
                {"usr/lib/dracut/dracut.conf.d/x", "dracut --force"},
                {"etc/dracut.conf", "dracut --force"},
                {"etc/mkinitcpio.conf", "mkinitcpio -P"},
                {"etc/initramfs-tools/initramfs.conf", "update-initramfs -u"},
        };
        struct tree t;

        tree_make(&t);
        assert_null(initramfs_command(&t.roots));
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char program[64] = "usr/bin/";

                (void) copy_part(program + strlen(program), sizeof(program) - strlen(program),
                                 table[i][1], strcspn(table[i][1], " "));
                tree_write(&t, table[i][0], "");
                /* Without the program it is another one's, or none. */
                assert_true(!initramfs_command(&t.roots) ||
                            !streq(initramfs_command(&t.roots), table[i][1]) || i == 1);
                tree_write(&t, program, "");
                assert_int_equal(fchmodat(t.roots.lib,
                                          path_join("../bin/", strrchr(program, '/') + 1), 0755, 0),
                                 0);
                assert_string_equal(initramfs_command(&t.roots), table[i][1]);
        }
        tree_remove(&t);
}

/* ---- small files with state ---- */

static int see_line(const char *key, const char *value, void *data)
{
        char line[64];

        (void) snprintf(line, sizeof(line), "%s:%s", key, value);
        return see(line, data);
}

static void test_lines(void **state)
{
        static const struct {
                const char *text, *stop;
                int result, r;
                const char *seen;
        } table[] = {
                {"", NULL, 0, 1, ""},
                {"A=1\nB=2\n", NULL, 0, 1, "A:1 B:2 "},
                {"A=1\nB=2", NULL, 0, 1, "A:1 B:2 "},
                {"\n#A=1\nB\n#\n=\nC=\nD==\nE=a=b\n F =g\n", NULL, 0, 1, ": C: D:= E:a=b  F :g "},
                {"A=1\nB=2\n", "A:1", -EBUSY, -EBUSY, "A:1 "},
                {"A=1\nB=2\n", "A:1", 1, 1, "A:1 B:2 "},
        };
        static char large[64 * 1024 + 2];
        struct seen s;
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int r;

                s = (struct seen){.stop = table[i].stop, .result = table[i].result};
                tree_write(&t, "run/a/x", table[i].text);
                r = state_read(t.roots.run, "a/x", see_line, &s);
                if (r != table[i].r || !streq(s.text, table[i].seen))
                        fail_msg("row %zu: %i %s", i, r, s.text);
        }
        s = (struct seen){};
        assert_int_equal(state_read(t.roots.run, "a/nothing", see_line, &s), 0);
        assert_int_equal(state_read(t.roots.run, "nothing/x", see_line, &s), 0);
        assert_int_equal(state_read(t.roots.run, "a/x/y", see_line, &s), -ENOTDIR);
        assert_int_equal(state_remove(t.roots.run, "a/x/y"), 0);
        assert_int_equal(state_remove(t.roots.run, "nothing/x"), 0);
        memset(large, 'a', NAME_MAX + 1);
        large[NAME_MAX + 1] = '/';
        assert_int_equal(state_remove(t.roots.run, large), -ENAMETOOLONG);
        assert_int_equal(state_read(t.roots.run, "a", see_line, &s), -EIO);
        assert_int_equal(mkfifoat(t.roots.run, "a/fifo", 0600), 0);
        assert_int_equal(state_read(t.roots.run, "a/fifo", see_line, &s), -EIO);
        assert_string_equal(s.text, "");
        /* The largest one, and a byte more. A record that is too large is not one that is missing.
         */
        memset(large, '#', sizeof(large) - 1);
        tree_write(&t, "run/a/large", large);
        assert_int_equal(state_read(t.roots.run, "a/large", see_line, &s), -EFBIG);
        tree_write(&t, "run/a/large", large + 1);
        assert_int_equal(state_read(t.roots.run, "a/large", see_line, &s), 1);
        tree_remove(&t);
}

static size_t names_in(struct tree *t, const char *path)
{
        struct seen s = {};
        size_t n = 0;

        (void) dir_each(t->roots.run, path, see, &s);
        for (const char *c = s.text; *c; c++)
                n += *c == ' ';
        return n;
}

/* After an error the old file is there, and nothing else. */
static void test_not_written(void **state)
{
        char name[NAME_MAX + 8] = "a/", many[PATH_MAX + 8] = "a/";
        struct tree t;

        tree_make(&t);
        tree_write(&t, "run/a/x/y", "A=1\n");
        assert_int_equal(state_write(t.roots.run, "a/x", "B=2\n", false), -EISDIR);
        assert_int_equal(state_write(t.roots.run, "a/x/y/z", "B=2\n", true), -ENOTDIR);
        memset(name + 2, 'n', NAME_MAX + 1);
        assert_int_equal(state_write(t.roots.run, name, "B=2\n", false), -ENAMETOOLONG);
        assert_int_equal(state_read(t.roots.run, name, see_line, NULL), -ENAMETOOLONG);
        memcpy(name + 2 + NAME_MAX + 1, "/x", 3);
        assert_int_equal(state_write(t.roots.run, name, "B=2\n", false), -ENAMETOOLONG);
        assert_int_equal(state_read(t.roots.run, name, see_line, NULL), -ENAMETOOLONG);
        for (size_t i = 2; i < sizeof(many) - 2; i += 2)
                memcpy(many + i, "d/", 3);
        assert_int_equal(state_mkdir(t.roots.run, many), -ENAMETOOLONG);
        assert_int_equal(state_mkdir(t.roots.run, "a/x/y/z"), -ENOTDIR);
        assert_int_equal(names_in(&t, "a"), 1);
        assert_int_equal(names_in(&t, "a/x"), 1);
        assert_string_equal(tree_read(&t, "run/a/x/y"), "A=1\n");
        assert_int_equal(state_write(t.roots.run, "a/x/y", "B=2\n", true), 0);
        assert_string_equal(tree_read(&t, "run/a/x/y"), "B=2\n");
        assert_int_equal(names_in(&t, "a/x"), 1);
        tree_remove(&t);
}

static void test_remove(void **state)
{
        struct tree t;

        tree_make(&t);
        tree_write(&t, "run/a/x", "");
        assert_int_equal(state_remove(t.roots.run, "a"), -EISDIR);
        assert_int_equal(state_remove(t.roots.run, "a/x/y"), 0);
        assert_int_equal(state_remove(t.roots.run, "nothing/y"), 0);
        assert_true(tree_exists(&t, "run/a/x"));
        assert_int_equal(state_remove(t.roots.run, "a/x"), 0);
        assert_false(tree_exists(&t, "run/a/x"));
        assert_int_equal(state_remove(t.roots.run, "a/x"), 0);
        tree_remove(&t);
}

static int synced, no_sync; /* no_sync: the number of the fsync that fails, from 1 */

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
        errno = EIO;
        return ++synced == no_sync ? -1 : 0;
}

/* A durable file is on the disk before it replaces the old one, and its name afterwards. */
static void test_durable(void **state)
{
        struct tree t;

        tree_make(&t);
        synced = 0;
        assert_int_equal(state_write(t.roots.run, "a/x", "1", false), 0);
        assert_int_equal(synced, 0);
        assert_int_equal(state_write(t.roots.run, "a/x", "2", true), 0);
        assert_int_equal(synced, 2);
        synced = 0;
        no_sync = 1;
        assert_int_equal(state_write(t.roots.run, "a/x", "3", true), -EIO);
        assert_string_equal(tree_read(&t, "run/a/x"), "2");
        assert_int_equal(names_in(&t, "a"), 1);
        synced = 0;
        no_sync = 2;
        assert_int_equal(state_write(t.roots.run, "a/x", "4", true), -EIO);
        assert_string_equal(tree_read(&t, "run/a/x"), "4");
        no_sync = 0;
        tree_remove(&t);
}

static void assert_file(int dir, const char *name, const char *text)
{
        _cleanup_free_ char *read = NULL;
        size_t size;

        assert_int_equal(state_read_text(dir, name, &read, &size), 1);
        assert_int_equal(size, strlen(text));
        assert_string_equal(read, text);
}

/* On a full disk there is no room for a second file: only a text that is no longer, in a file of
 * one block, is still written. */
static void test_full(void **state)
{
        static char large[4200], block[4097];
        struct tree t;
        char path[PATH_MAX];
        int dir, fd;

        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                skip();
        tree_make(&t);
        (void) snprintf(path, sizeof(path), "%s/run", t.path);
        assert_int_equal(mount("none", path, "tmpfs", 0, "size=20k"), 0);
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(state_write(dir, "a", "state=trial\nB=2\n", true), 0);
        memset(large, 'x', sizeof(large) - 1);
        assert_int_equal(state_write(dir, "large", large, true), 0); /* two blocks */
        memset(block, 'x', sizeof(block) - 1);
        assert_int_equal(state_write(dir, "block", block, true), 0);
        fd = openat(dir, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        while (write(fd, large, 1024) > 0)
                ;
        assert_int_equal(errno, ENOSPC);

        assert_int_equal(state_write(dir, "a", "state=ended\n", false), -ENOSPC);
        assert_file(dir, "a", "state=trial\nB=2\n");
        assert_int_equal(state_write(dir, "a", "state=ended\n", true), 0);
        assert_file(dir, "a", "state=ended\n\n\n\n\n");
        assert_int_equal(state_write(dir, "a", "state=ended\nB=23\n", true),
                         -ENOSPC); /* one byte more */
        assert_int_equal(state_write(dir, "a", "state=ended\nB=2\n", true), 0);
        assert_int_equal(state_write(dir, "a", large, true), -ENOSPC);
        assert_file(dir, "a", "state=ended\nB=2\n");
        block[0] = 'y';
        assert_int_equal(state_write(dir, "block", block, true), 0);
        assert_file(dir, "block", block);
        assert_int_equal(state_write(dir, "large", "x", true), -ENOSPC);
        assert_int_equal(state_write(dir, "new", "x", true), -ENOSPC);
        assert_file(dir, "large", large);
        no_sync = synced + 1;
        assert_int_equal(state_write(dir, "a", "state=x\n", true), -ENOSPC);
        no_sync = 0;
        (void) close(fd);
        (void) close(dir);
        assert_int_equal(umount(path), 0);
        tree_remove(&t);
}

/* The file keeps its owner and its mode. */
static void test_replace(void **state)
{
        uid_t owner = geteuid() == 0 ? 7 : geteuid();
        struct stat st;
        struct tree t;
        int like;

        tree_make(&t);
        tree_write(&t, "run/x", "old");
        like = openat(t.roots.run, "x", O_RDONLY | O_CLOEXEC);
        assert_true(like >= 0);
        assert_int_equal(fchown(like, owner, getegid()), 0);
        assert_int_equal(fchmod(like, 0640), 0);
        tree_write(&t, "run/.x", "left by a killed process");
        assert_int_equal(file_replace(t.roots.run, "x", ".x", "new", like, true), 0);
        assert_string_equal(tree_read(&t, "run/x"), "new");
        assert_false(tree_exists(&t, "run/.x"));
        assert_int_equal(fstatat(t.roots.run, "x", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(st.st_uid, owner);
        assert_int_equal(file_replace(t.roots.run, "x", "nothing/x", "newer", like, false),
                         -ENOENT);
        assert_int_equal(file_replace(t.roots.run, "nothing/x", ".x", "newer", -1, false), -ENOENT);
        assert_false(tree_exists(&t, "run/.x"));
        assert_string_equal(tree_read(&t, "run/x"), "new");
        (void) close(like);
        tree_remove(&t);
}

/* ---- a lock with a deadline ---- */

static void other_handler(int signal)
{
}

static void test_lock(void **state)
{
        struct sigaction mine = {.sa_handler = other_handler}, after;
        int one, two, fds[2];
        struct itimerval timer;
        struct awake began;
        pid_t child;
        struct tree t;
        char byte;

        tree_make(&t);
        assert_int_equal(sigaction(SIGALRM, &mine, NULL), 0);
        one = openat(t.roots.run, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        two = openat(t.roots.run, "lock", O_RDWR | O_CLOEXEC);
        assert_int_equal(lock_until(one, awake_in(0)), 0); /* it is free */
        assert_int_equal(lock_until(two, awake_in(0)), -ETIMEDOUT);
        began = now_awake();
        assert_int_equal(lock_until(two, awake_in(USEC_PER_SEC / 5)), -ETIMEDOUT);
        assert_in_range(awake_since(began), USEC_PER_SEC / 5, patience(10 * USEC_PER_SEC));
        assert_int_equal(lock_until(-1, awake_in(USEC_PER_SEC)), -EBADF);
        (void) close(one);
        assert_int_equal(lock_until(two, awake_in(0)), 0);
        (void) close(two);

        /* It is released while this process waits for it. */
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
                one = openat(t.roots.run, "lock", O_RDWR | O_CLOEXEC);
                (void) flock(one, LOCK_EX);
                (void) !write(fds[1], "", 1);
                (void) usleep(200000);
                _exit(0);
        }
        assert_int_equal(read(fds[0], &byte, 1), 1);
        two = openat(t.roots.run, "lock", O_RDWR | O_CLOEXEC);
        assert_int_equal(lock_until(two, awake_in(60 * USEC_PER_SEC)), 0);
        assert_int_equal(flock(two, LOCK_EX | LOCK_NB), 0);
        (void) close(two);
        assert_int_equal(waitpid(child, NULL, 0), child);

        /* The timer and the handler are as before. */
        assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
        assert_true(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
        assert_int_equal(sigaction(SIGALRM, NULL, &after), 0);
        assert_ptr_equal(after.sa_handler, other_handler);
        (void) close(fds[0]);
        (void) close(fds[1]);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read),        cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_write),       cmocka_unit_test(test_link),
                cmocka_unit_test(test_each),        cmocka_unit_test(test_dropins),
                cmocka_unit_test(test_roots),       cmocka_unit_test(test_boot),
                cmocka_unit_test(test_command),     cmocka_unit_test(test_lines),
                cmocka_unit_test(test_not_written), cmocka_unit_test(test_remove),
                cmocka_unit_test(test_durable),     cmocka_unit_test(test_full),
                cmocka_unit_test(test_replace),     cmocka_unit_test(test_lock),
        };

        (void) umask(022);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
