/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/io/look.h"
#include "sys/io/sysfs.h"
#include "sys/users/mounts.h"
#include "sys/users/search.h"
#include "sys/users/who.h"

/* Users found through processes: their mount namespaces and open files. */

/* A process, or one of its threads that has open files or a mount namespace of its own. */
struct task {
        struct user_search *s;
        const char *path; /* below /proc: "4711", or "4711/task/4712" */
        int dir;          /* directory `path`, or its fd/ */
        char **remote;    /* before Linux 4.11: where file servers are mounted */
        size_t n_remote;
        bool remote_read;
};

/* A process may end meanwhile, or may not be readable. But if we lack memory or files, its files
 * are unknown: no empty list. */
static int task_own_error(int error)
{
        if (no_room_for_files(-error))
                return -error;
        return 0;
}

/* An O_PATH descriptor does not open the node, and inotify does not report its close. */
static bool task_fd_is_path_only(const struct task *p, const char *fd)
{
        char text[256], *flags;

        if (attr_read(p->s->roots->proc, path_join(p->path, "/fdinfo/", fd), text, sizeof(text)) <=
                    0 ||
            !(flags = strstr(text, "flags:")))
                return false;
        return strtoul(flags + strlen("flags:"), NULL, 8) & O_PATH;
}

static int task_add_open(const struct task *p, const char *device, const char *below,
                         const char *name)
{
        struct user *u;

        for (size_t i = 0; i < p->s->n; i++) /* list each only once */
                if (p->s->list[i].kind == USER_OPEN && p->s->list[i].pid == (pid_t) atol(p->path) &&
                    streq(p->s->list[i].device, device))
                        return 0;
        if (search_enough(p->s, device))
                return 0;
        u = search_add(p->s, USER_OPEN, device);
        if (!u)
                return -ENOMEM;
        user_take_process(p->s->roots, u, (pid_t) atol(p->path));
        u->via = strdup(path_join(p->path, "/", below, name));
        if (!u->via)
                return -ENOMEM;
        return 0;
}

/*
 * For sg, bsg and tape nodes: the path of a character device in sysfs contains its SCSI device.
 * Returns 0, with the name of a node of the disk if the device belongs to a LUN, or -errno if sysfs
 * does not have it.
 */
static int search_character_device(const struct user_search *s, unsigned major, unsigned minor,
                                   const char **ret)
{
        char path[48], target[PATH_MAX], scsi[sizeof(s->luns->scsi) + 2];
        ssize_t n;

        (void) snprintf(path, sizeof(path), "dev/char/%u:%u", major, minor);
        n = readlinkat(s->roots->sys, path, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        for (size_t i = 0; i < s->n_luns; i++) {
                const struct lun *l = &s->luns[i];

                (void) snprintf(scsi, sizeof(scsi), "/%s/", l->scsi);
                if (!strstr(target, scsi))
                        continue;
                *ret = l->disk.name[0] && !streq(strrchr(target, '/') + 1, l->sg) ? l->disk.name
                                                                                  : l->sg;
                break;
        }
        return 0;
}

/* Finds a node by its own name, unless its number is that of another one. */
static const char *task_node_named(const struct task *p, const char *name, const char *target)
{
        const char *node = startswith(target, "/dev/"), *device, *other = NULL;
        struct stat st;

        if (!node)
                return NULL;
        device = search_name(p->s, node);
        /* "/dev/sda (deleted)" is the node of a former disk, and "/dev/sda" in a container may be
         * any. */
        if (!device || fstatat(p->dir, name, &st, 0) < 0)
                return NULL;
        if (S_ISCHR(st.st_mode)) {
                if (search_character_device(p->s, major(st.st_rdev), minor(st.st_rdev), &other) < 0)
                        return device;
        } else if (S_ISBLK(st.st_mode))
                (void) luns_have(p->s->luns, p->s->n_luns, major(st.st_rdev), minor(st.st_rdev),
                                 &other);
        return other;
}

/* Adds where file servers are mounted, as a mount table says. An error: none. */
static void task_add_remote(struct task *p, const char *path)
{
        _cleanup_(mount_table_close) struct mount_table table;
        int r = mount_table_open(&table, MOUNTS_OF_PROCESS, p->s->roots->proc, path);

        while (r >= 0 && (r = mount_table_next(&table)) > 0)
                if (table.remote)
                        r = strv_push(&p->remote, &p->n_remote, table.target);
}

/* Returns true if the file that a link of the process leads to is on a file server. */
static bool task_is_remote(struct task *p, const char *name)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(p->dir, name, target, sizeof(target) - 1);

        if (n < 0)
                return false;
        target[n] = '\0';
        if (!p->remote_read) {
                task_add_remote(p, path_join(p->path, "/mountinfo"));
                task_add_remote(p, "1/mountinfo");
                p->remote_read = true;
        }
        for (size_t i = 0; i < p->n_remote; i++)
                if (path_is_in(target, p->remote[i]))
                        return true;
        return false;
}

/*
 * Finds a node by another name, in a container's /dev. Or a file on a file system that is in no
 * mount table any more, but remains for its present users (umount -l). A file server that does not
 * answer is not asked.
 */
static const char *task_node_otherwise(struct task *p, const char *name)
{
        const char *device = NULL;
        struct stat st;
        int r = file_look_locally(p->dir, name, 0, &st);

        if (r == -ENOSYS && !task_is_remote(p, name))
                r = file_look(p->dir, name, 0, &st);
        if (r < 0)
                return NULL;
        if (S_ISBLK(st.st_mode))
                (void) luns_have(p->s->luns, p->s->n_luns, major(st.st_rdev), minor(st.st_rdev),
                                 &device);
        else if (S_ISCHR(st.st_mode))
                (void) search_character_device(p->s, major(st.st_rdev), minor(st.st_rdev), &device);
        else if (luns_have(p->s->luns, p->s->n_luns, major(st.st_dev), minor(st.st_dev), &device) &&
                 search_is_mounted(p->s, device))
                device = NULL; /* the mount is the user, not the file that keeps it busy */
        return device;
}

static int task_find_fd(const char *name, void *data)
{
        struct task *p = data;
        const char *device;
        char target[64];
        ssize_t n = readlinkat(p->dir, name, target, sizeof(target) - 1);

        if (n < 0)
                return task_own_error(errno);
        if (n == 0 || target[0] != '/') /* a pipe, a socket */
                return 0;
        target[n] = '\0';
        device = task_node_named(p, name, target) ?: task_node_otherwise(p, name);
        if (!device || task_fd_is_path_only(p, name))
                return 0;
        return task_add_open(p, device, "fd/", name);
}

static int task_find_files(struct task *p)
{
        static const char *const links[] = {"cwd", "root", "exe"};
        _cleanup_close_ int dir = openat(p->s->roots->proc, p->path,
                                         O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            fds = -1;

        if (dir < 0)
                return task_own_error(errno);
        p->dir = dir;
        for (size_t i = 0; i < ELEMENTSOF(links); i++) {
                const char *device = task_node_otherwise(p, links[i]);
                int r;

                if (!device)
                        continue;
                r = task_add_open(p, device, "", links[i]);
                if (r < 0)
                        return r;
        }
        fds = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fds < 0)
                return task_own_error(errno);
        p->dir = fds;
        return dir_each(fds, ".", task_find_fd, p);
}

/* Searches the mount namespace of a process or thread. Returns 0 or our own -errno. */
static int search_namespace(struct user_search *s, const char *task)
{
        char namespace[64];
        int r;

        if (link_basename(s->roots->proc, path_join(task, "/ns/mnt"), namespace,
                          sizeof(namespace)) <= 0 ||
            search_has_read(s, namespace))
                return 0;
        r = search_mounts(s, 1, path_join(task, "/mountinfo"), namespace, task);
        /* A process that has ended meanwhile has no table. Then another one of the namespace is
         * asked. */
        if (r < 0)
                return task_own_error(-r);
        return search_note_read(s, namespace);
}

/* Searches the mount namespace and the open files of one process or thread. Returns 0 or our own
 * -errno. */
static int search_task(struct user_search *s, const char *task)
{
        struct task p = {.s = s, .path = task, .dir = -1};
        int r = search_namespace(s, task);

        if (r < 0)
                return r;
        r = task_own_error(-task_find_files(&p));
        strv_free(p.remote);
        return r;
}

/*
 * Returns true if both threads have the same open files, root and mount namespace. The threads of a
 * process share them until one of them calls unshare(2). A thread cannot enter another mount
 * namespace while it shares its root (CLONE_FS). A main thread that has ended shares nothing. Two
 * calls for a thread are much cheaper than a search of its open files. Without kcmp(2) every thread
 * is searched.
 */
static bool threads_share(long a, long b)
{
        return syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0 &&
               syscall(SYS_kcmp, a, b, KCMP_FS, 0, 0) == 0;
}

static int search_threads(struct user_search *s, const char *pid)
{
        const char *threads = path_join(pid, "/task");
        _cleanup_strv_ char **names = NULL;
        long process = atol(pid), last = process; /* last: the thread that was searched last */
        int n = dir_list(s->roots->proc, threads, "", &names);

        if (n < 0)
                return task_own_error(-n);
        for (int i = 0; i < n; i++) {
                long thread = atol(names[i]);
                int r;

                if (thread == process || threads_share(thread, last) ||
                    (last != process && threads_share(thread, process)))
                        continue;
                last = thread;
                r = search_task(s, path_join(threads, "/", names[i]));
                if (r < 0)
                        return r;
        }
        return 0;
}

int search_process(const char *pid, void *data)
{
        struct user_search *s = data;
        struct stat st;
        int r;

        if (!isdigit((unsigned char) *pid) || atol(pid) == (long) getpid())
                return 0;
        r = search_task(s, pid);
        if (r < 0)
                return r;
        /* The directory has one link for each thread, and two more. */
        if (fstatat(s->roots->proc, path_join(pid, "/task"), &st, 0) < 0 || st.st_nlink <= 3)
                return 0;
        return search_threads(s, pid);
}
