/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/loop.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/users/search.h"

/*
 * Loop devices. sysfs has the path of the backing file, as it looks in the mount namespace of the
 * reader. A node in a chroot, in a namespace that is gone, or made by mknod has another path than
 * /dev/NAME. Only the number of the backing device proves what a loop device stands on. The kernel
 * returns it to a process that has the loop device open (LOOP_GET_STATUS64).
 *
 * This open disturbs no other process. It is read-only, so udev makes no event of its close. The
 * kernel detaches a loop device with `autoclear` at its last close. Such a device is open for as
 * long as it is attached, so our close is the last one only if all others have closed it before.
 *
 * To answer, the kernel asks the file system of the backing file, which may be FUSE or CIFS and
 * hang. So a child process asks, and the parent waits for it no longer than this.
 */
#define ANSWER_USEC USEC_PER_SEC

struct loop_answer {
        int error;  /* 0, or a negative errno; -EINPROGRESS: no answer */
        dev_t node; /* the backing device; 0: the backing file is no device */
        dev_t filesystem;
};

struct loop {
        char name[BLOCK_NAME_MAX], file[PATH_MAX];
        struct loop_answer answer;
};

struct loops {
        const struct roots *roots;
        struct loop *list;
        size_t n;
};

static void loops_done(struct loops *l)
{
        free(l->list);
}

static int loops_list(struct loops *l)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(l->roots->sys, "block", "loop", &names);

        if (n == -ENOENT)
                return 0;
        if (n < 0)
                return n;
        for (int i = 0; i < n; i++) {
                struct loop new = {.answer.error = -EINPROGRESS};
                const char *path = path_join("block/", names[i], "/loop/backing_file");

                if (!copy_string(new.name, sizeof(new.name), names[i]) ||
                    attr_read(l->roots->sys, path, new.file, sizeof(new.file)) <
                            0) /* nothing is attached */
                        continue;
                if (!list_push(l->list, l->n, new))
                        return -ENOMEM;
        }
        return 0;
}

static int loop_ask_kernel(int dev, const char *name, struct loop_answer *ret)
{
        _cleanup_close_ int fd = openat(dev, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        struct loop_info64 info;

        if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
                return -errno;
        /* Another loop device may have the node of this name. */
        if (info.lo_number != strtoul(name + strlen("loop"), NULL, 10))
                return -ENODATA;
        ret->node = info.lo_rdevice;
        ret->filesystem = info.lo_device;
        return 0;
}

__attribute__((noreturn)) static void loops_child(const struct loops *l, int out)
{
        for (size_t i = 0; i < l->n; i++) {
                struct loop_answer a = {0};

                a.error = loop_ask_kernel(l->roots->dev, l->list[i].name, &a);
                if (write(out, &a, sizeof(a)) != sizeof(a))
                        break;
        }
        _exit(0);
}

static bool loops_read_answers(struct loops *l, int in)
{
        struct awake deadline = awake_in(ANSWER_USEC);
        size_t i = 0;
        usec_t left;

        while (i < l->n && (left = awake_left(deadline)) > 0) {
                int r = poll(&(struct pollfd){in, POLLIN, 0}, 1, (int) ((left + 999) / 1000));
                struct loop_answer a;

                if (r < 0 && errno == EINTR)
                        continue;
                if (r <= 0 || read(in, &a, sizeof(a)) != sizeof(a))
                        break;
                l->list[i++].answer = a;
        }
        return i == l->n;
}

static void loops_ask_all(struct loops *l)
{
        _cleanup_close_ int fd = -1;
        pid_t child = child_fork(&l->roots->dev, 1, &fd);
        bool all;

        if (child < 0)
                return;
        if (child == 0)
                loops_child(l, fd);
        all = loops_read_answers(l, fd);
        if (!all)
                (void) kill(child, SIGKILL);
        (void) waitpid(child, NULL, all ? 0 : WNOHANG);
}

/* Returns any node of the disk, or NULL. */
static const char *search_some_node(const struct user_search *s)
{
        for (size_t i = 0; i < s->n_luns; i++)
                if (s->luns[i].disk.name[0])
                        return s->luns[i].disk.name;
        return NULL;
}

static int search_add_loop(struct user_search *s, const struct loop *l, bool asked)
{
        const char *node = startswith(l->file, "/dev/"), *device = NULL;
        const struct loop_answer *a = &l->answer;
        bool unsure = false;
        int r;

        if (node)
                device = search_name(s, node);
        if (asked && a->error == 0) {
                device = NULL;
                if (!luns_have(s->luns, s->n_luns, major(a->node), minor(a->node), &device) &&
                    luns_have(s->luns, s->n_luns, major(a->filesystem), minor(a->filesystem),
                              &device) &&
                    search_is_mounted(s, device))
                        device =
                                NULL; /* a file keeps its file system busy: the mount is the user */
        } else if (asked && a->error == -ENXIO)
                device = NULL; /* detached meanwhile */
        else if (asked && !device) {
                device = search_some_node(s); /* an error counts as in use */
                unsure = true;
        }
        if (!device)
                return 0;
        r = search_add_named(s, USER_LOOP, device, l->name);
        if (r < 0)
                return r;
        s->list[s->n - 1].unsure = unsure;
        return 0;
}

bool user_loop_sure(const struct roots *roots, const struct user *u)
{
        _cleanup_(loops_done) struct loops l = {.roots = roots};
        struct loop one = {.answer.error = -EINPROGRESS};
        const struct loop_answer *a;
        struct lun lun = {};
        const char *node;

        if (!copy_string(one.name, sizeof(one.name), u->where) || !list_push(l.list, l.n, one))
                return false;
        loops_ask_all(&l);
        a = &l.list->answer;
        if (a->error != 0) { /* only root may ask */
                const char *path = path_join("block/", u->where, "/loop/backing_file");

                return attr_read(roots->sys, path, one.file, sizeof(one.file)) >= 0 &&
                       streq(one.file, path_join("/dev/", u->device));
        }
        return copy_string(lun.disk.name, sizeof(lun.disk.name), u->device) &&
               attr_read_devno(roots->sys, path_join("class/block/", u->device, "/dev"),
                               &lun.disk.major, &lun.disk.minor) >= 0 &&
               (luns_have(&lun, 1, major(a->node), minor(a->node), &node) ||
                luns_have(&lun, 1, major(a->filesystem), minor(a->filesystem), &node));
}

int search_loops(struct user_search *list, size_t n, bool ask)
{
        _cleanup_(loops_done) struct loops l = {.roots = list->roots};
        int r = loops_list(&l);

        if (r < 0)
                return r;
        if (ask && l.n > 0)
                loops_ask_all(&l);
        for (size_t i = 0; i < n; i++)
                for (size_t at = 0; at < l.n; at++) {
                        r = search_add_loop(list + i, &l.list[at], ask);
                        if (r < 0)
                                return r;
                }
        return 0;
}

/*
 * Targets of the kernel that export a node to another machine. The kernel opens the node itself and
 * without a claim, and no process has it open (drivers/nvme/target/io-cmd-bdev.c,
 * drivers/target/target_core_file.c, drivers/usb/gadget/function/storage_common.c,
 * drivers/block/xen-blkback/xenbus.c, drivers/block/rnbd/rnbd-srv-sysfs.c, SCST's scst_vdisk.c).
 * configfs has the path of the node, and sysfs the number of a disk that a guest of Xen has. Only
 * rtslib fills in LIO's udev_path, the kernel itself its info. LIO's block backend claims its disk.
 */
static const struct target {
        const char *paths, *module;
        const char *before, *after; /* the path is between them; NULL: it is all of the attribute */
} targets[] = {
        {"kernel/config/nvmet/subsystems/*/namespaces/*/device_path", "nvmet"},
        {"kernel/config/target/core/fileio_*/*/info", "target_core_file", " File: ", "  Size: "},
        {"kernel/config/usb_gadget/*/functions/mass_storage.*/lun.*/file", "usb_f_mass_storage"},
        {"bus/xen-backend/devices/*/physical_device", "xen_blkback"},
        {"class/rnbd-server/ctl/devices/*/block_dev", "rnbd_server"},
        {"kernel/scst_tgt/devices/*/filename", "scst_vdisk", "", "\n"},
};

static bool target_is_enabled(const char *path)
{
        char enable[PATH_MAX], value[8];

        /* A gadget has no such file: it opens the node when the path is written. */
        (void) snprintf(enable, sizeof(enable), "%.*s/enable", (int) (strrchr(path, '/') - path),
                        path);
        return attr_read(AT_FDCWD, enable, value, sizeof(value)) <= 0 || !streq(value, "0");
}

/* node: its path, its number in hexadecimal ("8:1f"), or a link in sysfs to it ("../../block/sda")
 */
static const char *target_device(const struct user_search *s, const char *node)
{
        const char *device = NULL;
        unsigned major, minor;

        if (node[0] == '/')
                return search_path(s, node);
        if (startswith(node, "../")) { /* a link in sysfs to the device */
                node = strrchr(node, '/') + 1;
                return search_name(s, node) ?: search_stacked_name(s, node);
        }
        if (sscanf(node, "%x:%x", &major, &minor) == 2 &&
            !luns_have(s->luns, s->n_luns, major, minor, &device))
                device = search_stacked_number(s, major, minor);
        return device;
}

/* Returns the node in an attribute, or in a link of sysfs. NULL: it has none. text: is changed. */
static const char *target_node(const struct target *t, char *text)
{
        char *node, *end = NULL;

        if (!t->before)
                return text;
        node = strstr(text, t->before);
        if (!node)
                return NULL;
        node += strlen(t->before);
        for (char *p = node; (p = strstr(p, t->after)); p++)
                end = p; /* a path may contain the same words */
        if (end)
                *end = '\0';
        return node;
}

static int target_read(const char *path, char text[static PATH_MAX])
{
        ssize_t n = readlinkat(AT_FDCWD, path, text, PATH_MAX - 1);

        if (n < 0 && errno == EINVAL)
                return (int) attr_read(AT_FDCWD, path, text, PATH_MAX);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        return 0;
}

static int search_add_target(struct user_search *s, const char *path, const struct target *t)
{
        const char *device, *node;
        struct user *u;
        char text[PATH_MAX];
        int r = target_read(path, text);

        if (r == -ENOENT || r == -ENODEV)
                return 0; /* it has just been removed */
        if (r < 0)
                return r;
        node = target_node(t, text);
        if (!node)
                return 0;
        device = target_device(s, node);
        if (!device || !target_is_enabled(path))
                return 0;
        u = search_add(s, USER_OPEN, device);
        if (!u)
                return -ENOMEM;
        u->command = strdup(t->module);
        if (!u->command)
                return -ENOMEM;
        return 0;
}

/* A directory may be missing. glob(3) may skip no other error: an error counts as in use. */
static int target_on_glob_error(const char *path, int error)
{
        return error != ENOENT;
}

static int search_add_targets(struct user_search *s, const struct target *t)
{
        _cleanup_(globfree) glob_t found = {};
        char pattern[128];
        int r;

        (void) snprintf(pattern, sizeof(pattern), "/proc/self/fd/%i/%s", s->roots->sys, t->paths);
        r = glob(pattern, GLOB_NOSORT, target_on_glob_error, &found);
        if (r == GLOB_NOMATCH)
                return 0;
        if (r == GLOB_NOSPACE)
                return -ENOMEM;
        if (r != 0)
                return -EIO;
        for (size_t i = 0; i < found.gl_pathc; i++) {
                r = search_add_target(s, found.gl_pathv[i], t);
                if (r < 0)
                        return r;
        }
        return 0;
}

int search_targets(struct user_search *s)
{
        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                int r = search_add_targets(s, targets + i);

                if (r < 0)
                        return r;
        }
        return 0;
}
