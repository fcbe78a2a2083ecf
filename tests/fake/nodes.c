/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "sys/block/counts.h"
#include "wraps.h"

/* ---- nodes: openat(2), fstat(2), flock(2), fsync(2) on the folder's dev ---- */

static bool dev_name(pid_t pid, int fd, char ret[static 32], bool *ret_stale)
{
        char link[40], path[128];
        size_t n = strlen(fake->path);
        char *deleted;
        ssize_t length;

        (void) snprintf(link, sizeof(link), "/proc/%i/fd/%i", (int) pid, fd);
        length = readlink(link, path, sizeof(path) - 1);
        if (length <= 0)
                return false;
        path[length] = '\0';
        if (strncmp(path, fake->path, n) != 0 || strncmp(path + n, "/dev/", 5) != 0)
                return false;
        deleted = strstr(path, " (deleted)");
        if (deleted)
                *deleted = '\0';
        *ret_stale = deleted != NULL;
        return copy_string(ret, 32, path + n + 5);
}

/* The node that a descriptor is open on. `stale`: its disk is gone. */
bool fake_dev_name(int fd, char ret[static 32], bool *ret_stale)
{
        return dev_name(getpid(), fd, ret, ret_stale);
}

bool fake_claims(const char *name)
{
        char now[32];
        bool stale;

        for (unsigned i = 0; i < fake->n_claims; i++)
                if (dev_name(fake->claims[i].pid, fake->claims[i].fd, now, &stale) && !stale &&
                    streq(now, name))
                        return true;
        return false;
}

bool fake_stale(int letter)
{
        DIR *d = opendir("/proc/self/fd");
        bool found = false;
        struct dirent *e;

        while (d && !found && (e = readdir(d))) {
                char name[32];
                bool stale;

                found = fake_dev_name(atoi(e->d_name), name, &stale) && stale &&
                        name[2] == 'a' + letter;
        }
        if (d)
                (void) closedir(d);
        return found;
}

static void note_claim(int fd, bool exclusive)
{
        char now[32];
        bool stale;

        for (unsigned i = 0; i < fake->n_claims; i++)
                if ((fake->claims[i].pid == getpid() && fake->claims[i].fd == fd) ||
                    !dev_name(fake->claims[i].pid, fake->claims[i].fd, now, &stale))
                        fake->claims[i--] = fake->claims[--fake->n_claims];
        if (exclusive && fake->n_claims < ELEMENTSOF(fake->claims)) {
                fake->claims[fake->n_claims].pid = getpid();
                fake->claims[fake->n_claims++].fd = fd;
        }
}

void fake_no_claim(int fd)
{
        note_claim(fd, false);
}

static int fail_with(int r)
{
        errno = -r;
        return -1;
}

int __wrap_openat64(int dirfd, const char *path, int flags, ...)
{
        mode_t mode = 0;
        va_list ap;
        int r, fd = -1;

        if (flags & O_CREAT) {
                va_start(ap, flags);
                mode = va_arg(ap, mode_t);
                va_end(ap);
        }
        if (!fake || dirfd != fake->roots.dev || streq(path, "kmsg"))
                return __real_openat64(dirfd, path, flags, mode);
        r = op_begin("open %s", path);
        if (r == 0) {
                /* Before the kernel reads its partition table, only sysfs shows the disk. */
                r = udev_not_announced() ? -ENXIO : kernel_open(path, flags);
                if (r == 0 && (fd = __real_openat64(dirfd, path, flags & ~O_EXCL)) < 0)
                        r = -errno;
                if (r == 0) {
                        note_claim(fd, flags & O_EXCL);
                        fake_inotify_tell(path, IN_OPEN);
                }
                r = op_end(path, r);
        }
        if (r < 0) {
                (void) close_keep_errno(fd);
                return fail_with(r);
        }
        return fd;
}

/* With _FORTIFY_SOURCE, where the flags are not constant. */
int __wrap___openat64_2(int dirfd, const char *path, int flags)
{
        return __wrap_openat64(dirfd, path, flags);
}

int __wrap_fstat64(int fd, struct stat *st)
{
        const struct fake_node *n;
        char name[32];
        bool stale;
        int r = __real_fstat64(fd, st);

        if (r < 0 || !fake || !fake_dev_name(fd, name, &stale) || stale ||
            !(n = kernel_node(name, NULL, NULL)))
                return r;
        st->st_mode = S_IFBLK | 0660;
        st->st_rdev = makedev(8, n->minor);
        return 0;
}

/* The target of /proc/PID/fd/N of another process. */
int __wrap_fstatat64(int dirfd, const char *path, struct stat *st, int flags)
{
        const struct fake_node *n;
        char target[64];
        ssize_t length;

        if (!fake || (length = readlinkat(dirfd, path, target, sizeof(target) - 1)) <= 5)
                return __real_fstatat64(dirfd, path, st, flags);
        target[length] = '\0';
        if (strncmp(target, "/dev/sg", 7) == 0) {
                *st = (struct stat){.st_mode = S_IFCHR | 0660, .st_rdev = makedev(21, 0)};
                return 0;
        }
        if (strncmp(target, "/dev/sd", 7) != 0)
                return __real_fstatat64(dirfd, path, st, flags);
        /* An open node keeps its number when its disk is gone. */
        n = kernel_node(target + 5, NULL, NULL);
        *st = (struct stat){.st_mode = S_IFBLK | 0660,
                            .st_rdev =
                                    makedev(8, n ? n->minor : (unsigned) (target[7] - 'a') * 16)};
        return 0;
}

int __wrap_flock(int fd, int operation)
{
        char name[32] = "", link[40], path[128];
        bool stale, node = fake && fake_dev_name(fd, name, &stale);
        ssize_t n;
        int r;

        if (!fake || operation == LOCK_UN)
                return __real_flock(fd, operation);
        (void) snprintf(link, sizeof(link), "/proc/self/fd/%i", fd);
        n = readlink(link, path, sizeof(path) - 1);
        path[n > 0 ? n : 0] = '\0';
        if (strstr(path, RUN_QUIRKS_LOCK))
                (void) copy_string(name, sizeof(name), "quirks");
        r = op_begin("lock%s%s", name[0] ? " " : "", name);
        if (r == 0 && node && (fake->udev_locks || (!stale && udev_has_lock(name)))) {
                if (!(operation & LOCK_NB)) /* only the caller's own timer can end this */
                        kernel_pass(60 * USEC_PER_SEC);
                r = (operation & LOCK_NB) ? -EWOULDBLOCK : -EINTR;
        } else if (r == 0)
                r = __real_flock(fd, operation) < 0 ? -errno : 0;
        r = op_end("lock", r);
        return r < 0 ? fail_with(r) : 0;
}

/* The lock of the record. The locks of the children are not operations of the switch. */
int __wrap_switch_lock_take(int fd, enum switch_lock which)
{
        int r;

        while (fake && fake->starved && which == SWITCH_LOCK_CHILDREN)
                (void) pause();
        if (!fake || which != SWITCH_LOCK)
                return __real_switch_lock_take(fd, which);
        r = op_begin("lock");
        if (r == 0)
                r = __real_switch_lock_take(fd, which);
        return op_end("lock", r);
}

int __wrap_fsync(int fd)
{
        char name[32];
        bool stale;
        int r;

        if (!fake || !fake_dev_name(fd, name, &stale))
                return __real_fsync(fd);
        r = op_begin("sync %s", name);
        if (r == 0)
                r = op_end("sync", stale ? -EIO : kernel_fsync(name));
        return r < 0 ? fail_with(r) : 0;
}

/* The size of the medium, and whether it can be written. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
        struct fake_lun *l;
        char name[32];
        bool stale;
        va_list ap;
        void *arg;

        va_start(ap, request);
        arg = va_arg(ap, void *);
        va_end(ap);
        if (!fake || !fake_dev_name(fd, name, &stale) || stale || !kernel_node(name, NULL, &l))
                return __real_ioctl(fd, request, arg);
        if (request == BLKROGET)
                *(int *) arg = l->protected;
        else if (request == BLKGETSIZE64)
                *(uint64_t *) arg = l->empty ? 0 : 204800 * UINT64_C(512);
        else
                return fail_with(-ENOTTY);
        return 0;
}

/*
 * inotify_tells (v e): it reports every open and write of a node. A pipe replaces it here, because
 * the kernel needs longer to close a real one than for all the rest of a switch.
 */
static int inotify_out = -1;
static char watched[16][32];
static size_t n_watched;

int __wrap_inotify_init1(int flags)
{
        int fds[2], r = op_begin("inotify");

        if (r < 0)
                return fail_with(r);
        fake_inotify_end();
        n_watched = 0;
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -1;
        inotify_out = fds[1];
        r = op_end("inotify", fds[0]);
        if (r < 0)
                (void) close(fds[0]);
        return r < 0 ? fail_with(r) : r;
}

void fake_inotify_end(void)
{
        inotify_out = close_keep_errno(inotify_out);
}

/* path: /proc/self/fd/DEV/NAME */
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
        const char *name = strrchr(path, '/') + 1;

        if (n_watched >= ELEMENTSOF(watched) || !kernel_node(name, NULL, NULL))
                return fail_with(-ENOENT);
        (void) copy_string(watched[n_watched], sizeof(watched[0]), name);
        return (int) ++n_watched;
}

void fake_inotify_tell(const char *name, uint32_t mask)
{
        static struct inotify_event last;
        struct inotify_event e = {.mask = mask};
        int unread = 0;

        for (size_t i = 0; i < n_watched && inotify_out >= 0; i++)
                if (streq(watched[i], name)) {
                        e.wd = (int) i + 1;
                        /* inotify drops an event that equals the last unread one. */
                        if (ioctl(inotify_out, FIONREAD, &unread) >= 0 && unread > 0 &&
                            last.wd == e.wd && last.mask == e.mask)
                                continue;
                        (void) !write(inotify_out, &e, sizeof(e));
                        last = e;
                }
}

enum disturbance __wrap_claim_disturbed(const struct claim *c)
{
        enum disturbance d;

        (void) op_begin("disturbed");
        d = __real_claim_disturbed(c);
        (void) op_end("disturbed", 0);
        return d;
}

void __wrap_claim_close(struct claim *c)
{
        (void) op_begin("close");
        __real_claim_close(c);
        (void) op_end("close", 0);
}

/* A partition has no claim of its own. */
int __wrap_claim_stop(const struct claim *c, size_t i)
{
        int r;

        if (c->nodes[i].exclusive < 0)
                return 0;
        r = op_begin("stop %s", c->nodes[i].name);
        if (r == 0)
                r = kernel_stop(c->nodes[i].name);
        return op_end("stop", r);
}

/* Whether this open of a node counts. For partitions only the first one does. PARTS were open
 * before. */
static bool first_open(const char *name, ino_t node, ino_t parts[static 16], size_t *n_parts)
{
        if (!name[3])
                return true;
        for (size_t i = 0; i < *n_parts; i++)
                if (parts[i] == node)
                        return false;
        if (*n_parts < 16)
                parts[(*n_parts)++] = node;
        return true;
}

/*
 * counts_opens (k 8): every open of a whole disk pins the driver's module until its close, even
 * when the disk is gone. For a partition only the first open does (6.1; on 6.12 each). A mount is
 * an open. A built-in driver has no count.
 */
int __wrap_driver_opens(const struct roots *r, enum driver d)
{
        DIR *dir = fake->counts ? opendir("/proc/self/fd") : NULL;
        ino_t parts[16];
        size_t n_parts = 0;
        struct dirent *e;
        int n = 0;

        if (op_begin("count") < 0 || !dir) {
                (void) op_end("count", 0);
                if (dir)
                        (void) closedir(dir);
                return -ENOENT;
        }
        while ((e = readdir(dir))) {
                int fd = atoi(e->d_name);
                char name[32], driver;
                struct stat st;
                bool stale;

                if (fake_dev_name(fd, name, &stale) && pread(fd, &driver, 1, 0) == 1 &&
                    driver == '0' + (char) d && __real_fstat64(fd, &st) >= 0)
                        n += first_open(name, st.st_ino, parts, &n_parts);
        }
        (void) closedir(dir);
        for (unsigned i = 0; i < fake->n_usb; i++)
                for (unsigned l = 0; fake->usb[i].driver == d && l < fake->usb[i].n_luns; l++)
                        for (unsigned k = 0; k < fake->usb[i].luns[l].n_nodes; k++) {
                                const struct fake_node *node = &fake->usb[i].luns[l].nodes[k];
                                struct stat st;

                                if (node->mounted &&
                                    __real_fstatat64(fake->roots.dev, node->name, &st, 0) >= 0)
                                        n += first_open(node->name, st.st_ino, parts, &n_parts);
                        }
        (void) op_end("count", 0);
        return n;
}
