/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "sys/fingerprint.h"
#include "sys/marks.h"
#include "sys/modules.h"
#include "sys/opens.h"
#include "sys/pid1.h"
#include "sys/statefile.h"
#include "sys/sysfs.h"
#include "sys/trial.h"
#include "sys/uevents.h"
#include "sys/users.h"
#include "wraps.h"

/*
 * Where the switch meets the kernel: the linker brings those calls here (-Wl,--wrap, meson.build). Everything
 * else is the product's own code, the claim with its order of syncs included.
 */

/* ---- nodes: openat(2), fstat(2), flock(2), fsync(2) on the folder's dev ---- */

static int claims[32]; /* descriptors this process opened O_EXCL; what a number is now, dev_name() says */
static size_t n_claims;

/* The node a descriptor is open on. `stale`: of a disk that is gone. */
static bool dev_name(int fd, char ret[static 32], bool *ret_stale)
{
        char link[40], path[128];
        size_t n = strlen(fake->path);
        char *deleted;
        ssize_t length;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%i", fd);
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

bool fake_claims(const char *name)
{
        char now[32];
        bool stale;

        for (size_t i = 0; i < n_claims; i++)
                if (dev_name(claims[i], now, &stale) && !stale && streq(now, name))
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

                found = dev_name(atoi(e->d_name), name, &stale) && stale && name[2] == 'a' + letter;
        }
        if (d)
                (void) closedir(d);
        return found;
}

static void note_claim(int fd, bool exclusive)
{
        for (size_t i = 0; i < n_claims; i++)
                if (claims[i] == fd)
                        claims[i--] = claims[--n_claims];
        if (exclusive && n_claims < ELEMENTSOF(claims))
                claims[n_claims++] = fd;
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
        if (!fake || dirfd != fake->roots.dev)
                return __real_openat64(dirfd, path, flags, mode);
        r = op_begin("open %s", path);
        if (r == 0) {
                r = kernel_open(path, flags & O_EXCL);
                if (r == 0 && (fd = __real_openat64(dirfd, path, flags & ~O_EXCL)) < 0)
                        r = -errno;
                if (r == 0)
                        note_claim(fd, flags & O_EXCL);
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

        if (r < 0 || !fake || !dev_name(fd, name, &stale) || stale || !(n = kernel_node(name, NULL, NULL)))
                return r;
        st->st_mode = S_IFBLK | 0660;
        st->st_rdev = makedev(8, n->minor);
        return 0;
}

/* What an open file of a process leads to, /proc/PID/fd/N. */
int __wrap_fstatat64(int dirfd, const char *path, struct stat *st, int flags)
{
        const struct fake_node *n;
        char target[64];
        ssize_t length;

        if (!fake || (length = readlinkat(dirfd, path, target, sizeof(target) - 1)) <= 5)
                return __real_fstatat64(dirfd, path, st, flags);
        target[length] = '\0';
        if (strncmp(target, "/dev/", 5) != 0 || !(n = kernel_node(target + 5, NULL, NULL)))
                return __real_fstatat64(dirfd, path, st, flags);
        *st = (struct stat){.st_mode = S_IFBLK | 0660, .st_rdev = makedev(8, n->minor)};
        return 0;
}

int __wrap_flock(int fd, int operation)
{
        char name[32] = "";
        bool stale, node = fake && dev_name(fd, name, &stale);
        int r;

        if (!fake || operation == LOCK_UN)
                return __real_flock(fd, operation);
        r = op_begin("lock%s%s", node ? " " : "", name);
        if (r == 0 && node && fake->udev_locks) {
                if (!(operation & LOCK_NB)) /* the caller's own timer has to end this */
                        kernel_pass(60 * USEC_PER_SEC);
                r = (operation & LOCK_NB) ? -EWOULDBLOCK : -EINTR;
        } else if (r == 0)
                r = __real_flock(fd, operation) < 0 ? -errno : 0;
        r = op_end("lock", r);
        return r < 0 ? fail_with(r) : 0;
}

int __wrap_fsync(int fd)
{
        char name[32];
        bool stale;
        int r;

        if (!fake || !dev_name(fd, name, &stale))
                return __real_fsync(fd);
        r = op_begin("sync %s", name);
        if (r == 0)
                r = op_end("sync", stale ? -EIO : kernel_fsync(name));
        return r < 0 ? fail_with(r) : 0;
}

/*
 * inotify_tells (v e): of every open and write of a node by others. A pipe stands in for it: to end a real one
 * takes the kernel longer than all the rest of a switch.
 */
static int inotify_out = -1;
static char watched[16][32];
static size_t n_watched;

int __wrap_inotify_init1(int flags)
{
        int fds[2];

        fake_inotify_end();
        n_watched = 0;
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -1;
        inotify_out = fds[1];
        return fds[0];
}

void fake_inotify_end(void)
{
        inotify_out = close_keep_errno(inotify_out);
}

/* path: /proc/self/fd/N */
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
        bool stale;

        if (n_watched >= ELEMENTSOF(watched) ||
            !dev_name(atoi(strrchr(path, '/') + 1), watched[n_watched], &stale) || stale)
                return fail_with(-ENOENT);
        return (int) ++n_watched;
}

void fake_inotify_tell(const char *name, uint32_t mask)
{
        struct inotify_event e = {.mask = mask};

        for (size_t i = 0; i < n_watched && inotify_out >= 0; i++)
                if (streq(watched[i], name)) {
                        e.wd = (int) i + 1;
                        (void) !write(inotify_out, &e, sizeof(e));
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

/*
 * counts_opens (k 8): every open of a whole disk pins the driver's module, of a partition the first one alone;
 * a mount is an open. Built in, there is no count.
 */
int __wrap_driver_opens(const struct roots *r, enum driver d)
{
        DIR *dir = fake->counts ? opendir("/proc/self/fd") : NULL;
        char seen[16][32];
        size_t n_seen = 0;
        struct dirent *e;
        int n = 0;

        if (op_begin("count") < 0 || !dir) {
                (void) op_end("count", 0);
                if (dir)
                        (void) closedir(dir);
                return -ENOENT;
        }
        while ((e = readdir(dir))) {
                char name[32];
                bool stale, again = false;

                if (!dev_name(atoi(e->d_name), name, &stale) || stale)
                        continue;
                for (size_t i = 0; i < n_seen; i++)
                        again = again || (name[3] && streq(seen[i], name));
                n += !again;
                if (n_seen < ELEMENTSOF(seen))
                        memcpy(seen[n_seen++], name, sizeof(name));
        }
        (void) closedir(dir);
        for (unsigned i = 0; i < fake->n_usb; i++)
                for (unsigned l = 0; fake->usb[i].driver == d && l < fake->usb[i].n_luns; l++)
                        for (unsigned k = 0; k < fake->usb[i].luns[l].n_nodes; k++)
                                n += fake->usb[i].luns[l].nodes[k].mounted;
        (void) op_end("count", 0);
        return n;
}

/* ---- attributes ---- */

/* "sys/bus/..." of an attribute; -ENODEV if its directory is of a device that is gone. */
static int sysfs_path(int dirfd, const char *path, char *ret, size_t size)
{
        char link[40], dir[400];
        size_t top = strlen(fake->path) + 1;
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%i", dirfd);
        n = readlink(link, dir, sizeof(dir) - 1);
        if (n < (ssize_t) top)
                return -EBADF;
        dir[n] = '\0';
        if (strstr(dir, " (deleted)"))
                return -ENODEV;
        (void) snprintf(ret, size, "%s/%s", dir + top, path);
        return 0;
}

/* The component before the last. */
static const char *above(const char *path, char ret[static 64])
{
        const char *end = strrchr(path, '/'), *begin = end;

        while (begin > path && begin[-1] != '/')
                begin--;
        (void) snprintf(ret, 64, "%.*s", (int) (end - begin), begin);
        return ret;
}

int __wrap_attr_write(int dirfd, const char *path, const char *text)
{
        char attribute[512], name[64];
        const char *last;
        int r = sysfs_path(dirfd, path, attribute, sizeof(attribute));

        if (r < 0)
                return r;
        last = strrchr(attribute, '/') + 1;
        (void) above(attribute, name);
        r = op_begin("%s %s", last, name);
        if (r != 0)
                return r < 0 ? r : 0;
        if (streq(last, "bind"))
                r = kernel_bind((enum driver) driver_from_string(name), text);
        else if (streq(last, "unbind"))
                r = kernel_unbind((enum driver) driver_from_string(name), text);
        else if (streq(last, "delete"))
                r = kernel_delete(name);
        else if (streq(last, "scan") && streq(text, "- - -"))
                r = kernel_scan(atoi(name + strlen("host")));
        else if (streq(last, "quirks"))
                r = kernel_quirks(text);
        else if (streq(last, "uevent") && streq(text, "add"))
                r = kernel_trigger(name);
        else
                fake_break("wrote what nobody thought of:", attribute);
        return op_end(last, r);
}

ssize_t __wrap_attr_read(int dirfd, const char *path, char *ret, size_t size)
{
        int r;

        if (!streq(path, SYSFS_QUIRKS))
                return __real_attr_read(dirfd, path, ret, size);
        r = op_begin("read quirks");
        if (r < 0)
                return r;
        r = op_end("read quirks", 0);
        return r < 0 ? r : __real_attr_read(dirfd, path, ret, size);
}

/* ---- whole functions of sys/ ---- */

int __wrap_usb_disk_read(const struct roots *r, const char *interface, bool strings, struct usb_disk *ret)
{
        int k = op_begin("read disk");

        if (k == 0) {
                k = __real_usb_disk_read(r, interface, strings, ret);
                if (op_end("read disk", 0) < 0 && k > 0) {
                        usb_disk_done(ret);
                        k = -EIO;
                }
        }
        return k;
}

int __wrap_users_find(const struct roots *r, const struct lun *luns, size_t n_luns, bool deep,
                      struct user **ret, size_t *ret_n)
{
        int k = op_begin(deep ? "users deep" : "users");

        if (k == 0) {
                k = __real_users_find(r, luns, n_luns, deep, ret, ret_n);
                if (op_end("users", 0) < 0 && k == 0) {
                        users_free(*ret, *ret_n);
                        k = -EIO;
                }
        }
        return k;
}

static const char *mark_name(const char *path)
{
        return strstr(path, "/switch/") ? "record" : strstr(path, "/hold/") ? "hold" : "attachment";
}

int __wrap_state_write(int dirfd, const char *path, const char *text, bool durable)
{
        int r = op_begin("write %s", mark_name(path));

        return r < 0 ? r : op_end("write", __real_state_write(dirfd, path, text, durable));
}

int __wrap_state_remove(int dirfd, const char *path)
{
        int r = op_begin("remove %s", mark_name(path));

        return r < 0 ? r : op_end("remove", __real_state_remove(dirfd, path));
}

int __wrap_fingerprint_read(const struct claim *c, char **ret)
{
        int r = op_begin("fingerprint");
        char text[256] = "";
        size_t n = 0;

        /* udev_is_done (v 7): a worker that still probes the disk would be in the way of its next bind. */
        if (tree_exists("run/udev/control"))
                for (unsigned i = 0; i < fake->n_events; i++)
                        if (fake->events[i].due > fake->clock)
                                fake->early = true;

        for (size_t i = 0; r == 0 && i < c->n; i++) {
                struct fake_usb *u;
                struct fake_lun *l;
                char name[32];
                bool stale = true;

                if (!c->nodes[i].whole)
                        continue;
                if (!dev_name(c->nodes[i].fd, name, &stale) || stale || !kernel_node(name, &u, &l))
                        r = -EIO;
                else
                        n += (size_t) snprintf(text + n, sizeof(text) - n, "LUN%u_CONTENT=%u\n",
                                               c->nodes[i].lun,
                                               l->content + (u->driver == DRIVER_UAS && u->garbles_on_uas));
        }
        r = r < 0 ? r : op_end("fingerprint", r);
        if (r == 0 && !(*ret = strdup(text)))
                r = -ENOMEM;
        return r;
}

int __wrap_trial_reads(const struct roots *r, const struct claim *c, uint64_t deadline)
{
        struct fake_usb *u = &fake->usb[0];
        int k = op_begin("trial");

        return k < 0 ? k : op_end("trial", u->driver == DRIVER_UAS && u->stalls_on_uas ? -ETIMEDOUT : 0);
}

int __wrap_uas_module_load(const struct roots *r)
{
        int k = op_begin("module");

        return k < 0 ? k : op_end("module", kernel_load_uas());
}

/* ---- time and events ---- */

uint64_t __wrap_now_boottime(void)
{
        kernel_pass(1);
        return fake->clock;
}

static struct fake_event *due(void)
{
        for (unsigned i = 0; i < fake->n_events; i++)
                if (fake->events[i].due <= fake->clock)
                        return &fake->events[i];
        return NULL;
}

/* Waiting for events is what lets time pass; waiting for a child is waited for. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
        if (!fake || (n == 1 && fds[0].fd >= 0))
                return __real_poll(fds, n, timeout);
        (void) op_begin("wait");
        for (int msec = 0; msec < timeout && !(n == 1 && due()); msec += 10)
                kernel_pass((fake->haste ? 200 : 10) * USEC_PER_MSEC);
        (void) op_end("wait", 0);
        return n == 1 && due() ? 1 : 0;
}

int __wrap_uevents_open(bool processed, struct udev_monitor **ret)
{
        static int nothing;
        int r = op_begin("events");

        if (r == 0)
                *ret = (struct udev_monitor *) &nothing;
        return r < 0 ? r : op_end("events", 0);
}

void __wrap_uevents_close(struct udev_monitor *m)
{
}

int __wrap_uevents_fd(struct udev_monitor *m)
{
        return -1;
}

int __wrap_uevents_next(struct udev_monitor *m, struct uevent *ret)
{
        struct fake_event *e = due();

        if (!e)
                return 0;
        *ret = (struct uevent){.action = "add", .subsystem = "block", .devtype = "disk", .diskseq = e->diskseq};
        (void) copy_string(ret->interface, sizeof(ret->interface), e->interface);
        *e = fake->events[--fake->n_events];
        return 1;
}

/* ---- PID 1 ---- */

int __wrap_pid1_open(sd_bus **ret)
{
        int r = op_begin("pid1");

        *ret = NULL; /* nobody looks into it: sd-bus takes NULL for none */
        return r < 0 ? r : op_end("pid1", fake->no_pid1 ? -ENOENT : 0);
}

int __wrap_pid1_state(sd_bus *pid1, enum pid1_state *ret)
{
        *ret = fake->stopping ? PID1_STOPPING : PID1_RUNNING;
        return 0;
}

int __wrap_pid1_arm_release(sd_bus *pid1, const char *interface)
{
        int r = op_begin("arm timer");

        if (r == 0)
                fake->timers++;
        return r < 0 ? r : op_end("arm timer", 0);
}
