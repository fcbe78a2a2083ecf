/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/io/statefile.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/names.h"

/* The history of all disks has a quarter of a megabyte at most. */
#define FILE_SIZE_MAX (1024 * 1024)
/* The largest record has a line for each disk with trouble. It is read without malloc(): a disk
 * without a driver needs its record. */
#define RECORD_SIZE_MAX (64 * 1024)
/* Written in one piece: only a power cut in that moment can tear it. */
#define BLOCK_SIZE 4096
#define LOCK_PAUSE_MSEC 2

static int state_mkdir_one(int dirfd, const char *path)
{
        if (mkdirat(dirfd, path, 0755) < 0)
                return errno == EEXIST ? 0 : -errno;
        /* Independent of the umask: other users read these files. */
        if (fchmodat(dirfd, path, 0755, 0) < 0)
                return -errno;
        return 0;
}

int state_mkdir(int dirfd, const char *path)
{
        char part[PATH_MAX];

        if (!copy_string(part, sizeof(part), path))
                return -ENAMETOOLONG;
        for (char *slash = part; slash;) {
                int r;

                slash = strchr(slash + 1, '/');
                if (slash)
                        *slash = '\0';
                r = state_mkdir_one(dirfd, part);
                if (r < 0)
                        return r;
                if (slash)
                        *slash = '/';
        }
        return 0;
}

/* Opens the directory that contains a path; ret_name is the rest. From our own directory on no
 * component may be a link. */
static int state_open_parent(int dirfd, const char *path, const char **ret_name)
{
        _cleanup_close_ int dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *slash;
        bool ours = false;

        for (; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                char part[NAME_MAX + 1];
                size_t n = (size_t) (slash - path);
                int next;

                if (n >= sizeof(part))
                        return -ENAMETOOLONG;
                *(char *) mempcpy(part, path, n) = '\0';
                ours = ours || streq(part, RUN_DIR);
                next = openat(dir, part,
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC | (ours ? O_NOFOLLOW : 0));
                (void) close_keep_errno(dir);
                dir = next;
        }
        *ret_name = path;
        if (dir < 0)
                return -errno;
        return TAKE_FD(dir);
}

static int state_write_all(int fd, const char *text)
{
        for (size_t left = strlen(text); left > 0;) {
                ssize_t n = TEMP_FAILURE_RETRY(write(fd, text, left));

                if (n < 0)
                        return -errno;
                text += n;
                left -= (size_t) n;
        }
        return 0;
}

#define ATTRIBUTES_MAX 4096 /* bytes of all names */

/* Copies what the file system has of these. FAT, which a Raspberry Pi boots from, has none of them,
 * and refuses all. */
static int file_make_like(int fd, int like)
{
        _cleanup_free_ char *value = NULL;
        char names[ATTRIBUTES_MAX];
        struct stat st;
        ssize_t n;

        if (fstat(like, &st) < 0)
                return -errno;
        (void) !fchown(fd, st.st_uid, st.st_gid);
        (void) !fchmod(fd, st.st_mode & 07777);
        value = malloc(XATTR_SIZE_MAX);
        if (!value)
                return -ENOMEM;
        n = flistxattr(like, names, sizeof(names));
        for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
                ssize_t size;

                /* Hashes of the content, which the kernel makes again. */
                if (streq(name, "security.ima") || streq(name, "security.evm"))
                        continue;
                size = fgetxattr(like, name, value, XATTR_SIZE_MAX);
                if (size >= 0)
                        (void) fsetxattr(fd, name, value, (size_t) size, 0);
        }
        return 0;
}

static int file_fill(int fd, const char *text, int like, bool durable)
{
        int r;

        if (like >= 0) {
                r = file_make_like(fd, like);
                if (r < 0)
                        return r;
        } else if (fchmod(fd, 0644) < 0)
                return -errno;
        r = state_write_all(fd, text);
        if (r < 0)
                return r;
        if (durable && fsync(fd) < 0)
                return -errno;
        return 0;
}

int file_replace(int dir, const char *name, const char *temp, const char *text, int like,
                 bool durable)
{
        _cleanup_close_ int fd = -1;
        int r;

        (void) unlinkat(dir, temp, 0); /* left by a killed process */
        fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    like >= 0 ? 0600 : 0644);
        if (fd < 0)
                return -errno;
        r = file_fill(fd, text, like, durable);
        if (r < 0) {
                (void) unlinkat(dir, temp, 0);
                return r;
        }
        if (renameat(dir, temp, dir, name) < 0) {
                r = -errno;
                (void) unlinkat(dir, temp, 0);
                return r;
        }
        if (durable && fsync(dir) < 0)
                return -errno;
        return 0;
}

/*
 * For a full disk: writes the text over the present file, which has its blocks already. The file
 * does not grow. Otherwise a file system may refuse a second block after it has written the first.
 * The rest of the file becomes empty lines.
 */
static int file_write_over(int dir, const char *name, const char *text)
{
        _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        char block[BLOCK_SIZE];
        size_t n = strlen(text);
        struct stat st;
        ssize_t written;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > BLOCK_SIZE ||
            n > (size_t) st.st_size)
                return -ENOSPC;
        memset(mempcpy(block, text, n), '\n', sizeof(block) - n);
        written = pwrite(fd, block, (size_t) st.st_size, 0);
        if (written < 0 || fsync(fd) < 0)
                return -errno;
        if (written < st.st_size)
                return -ENOSPC;
        return 0;
}

int state_write(int dirfd, const char *path, const char *text, bool durable)
{
        _cleanup_close_ int dir = -1;
        char temp[NAME_MAX + 1];
        const char *name;
        int r;

        dir = state_open_parent(dirfd, path, &name);
        if (dir == -ENOENT) {
                char up[PATH_MAX];

                (void) copy_part(up, sizeof(up), path, (size_t) (strrchr(path, '/') - path));
                r = state_mkdir(dirfd, up);
                if (r < 0)
                        return r;
                dir = state_open_parent(dirfd, path, &name);
        }
        if (dir < 0)
                return dir;
        if ((size_t) snprintf(temp, sizeof(temp), ".%s.%i", name, (int) getpid()) >= sizeof(temp))
                return -ENAMETOOLONG;
        r = file_replace(dir, name, temp, text, -1, durable);
        if (durable && (r == -ENOSPC || r == -EDQUOT) && file_write_over(dir, name, text) >= 0)
                return 0;
        return r;
}

static int state_open_file(int dirfd, const char *path)
{
        _cleanup_close_ int dir = -1;
        const char *name;
        int fd;

        dir = state_open_parent(dirfd, path, &name);
        if (dir < 0)
                return dir;
        fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        return fd;
}

int state_read_text(int dirfd, const char *path, char **ret, size_t *ret_size)
{
        _cleanup_close_ int fd = state_open_file(dirfd, path);
        int r;

        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return fd;
        r = read_whole(fd, FILE_SIZE_MAX, ret, ret_size);
        if (r == -EINVAL) /* not a file */
                return -EIO;
        if (r < 0)
                return r;
        return 1;
}

/* Returns the sign after the key, or NULL. Another key ends the read of the line. */
static const char *assignment_equals(const char *line, size_t length, const char *key, size_t n)
{
        if (!key)
                return memchr(line, '=', strnlen(line, length));
        if (length > n && line[n] == '=' && memcmp(line, key, n) == 0)
                return line + n;
        return NULL;
}

bool assignment_next(const char *text, size_t size, const char *key, size_t *at,
                     struct assignment *ret)
{
        size_t n = key ? strlen(key) : 0;

        while (*at < size) {
                const char *line = text + *at, *end = memchr(line, '\n', size - *at) ?: text + size;
                const char *equals = assignment_equals(line, (size_t) (end - line), key, n);

                *at = (size_t) (end + 1 - text);
                if (*line == '#' || !equals)
                        continue;
                *ret = (struct assignment){line, equals + 1, (size_t) (equals - line),
                                           (size_t) (end - equals - 1)};
                return true;
        }
        return false;
}

bool assignment_is(const struct assignment *a, const char *key)
{
        return strlen(key) == a->key_length && memcmp(a->key, key, a->key_length) == 0;
}

int state_read(int dirfd, const char *path,
               int (*fn)(const char *key, const char *value, void *data), void *data)
{
        _cleanup_close_ int fd = state_open_file(dirfd, path);
        char text[RECORD_SIZE_MAX + 1];
        struct assignment a;
        struct stat st;
        size_t at = 0;
        ssize_t n;
        int r;

        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EIO;
        n = read_full(fd, text, sizeof(text));
        if (n < 0)
                return (int) n;
        if (n > RECORD_SIZE_MAX)
                return -EFBIG;
        while (assignment_next(text, (size_t) n, NULL, &at, &a)) {
                text[a.value - 1 - text] = '\0';
                text[a.value + a.value_length - text] = '\0';
                r = fn(a.key, a.value, data);
                if (r < 0)
                        return r;
        }
        return 1;
}

int state_remove(int dirfd, const char *path)
{
        _cleanup_close_ int dir = -1;
        const char *name;

        dir = state_open_parent(dirfd, path, &name);
        if (dir == -ENOENT || dir == -ENOTDIR)
                return 0;
        if (dir < 0)
                return dir;
        if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
                return -errno;
        return 0;
}

/* Locks are held for milliseconds: polling costs less than a timer, and disturbs no signal of the
 * caller. */
int lock_until(int fd, struct awake deadline)
{
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (awake_left(deadline) == 0)
                        return -ETIMEDOUT;
                (void) poll(NULL, 0, LOCK_PAUSE_MSEC);
        }
        return 0;
}

int state_lock(int dirfd, const char *name, struct awake deadline)
{
        _cleanup_close_ int fd = -1;
        int r = state_mkdir(dirfd, RUN_DIR);

        if (r < 0)
                return r;
        fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = lock_until(fd, deadline);
        if (r < 0)
                return r;
        return TAKE_FD(fd);
}
