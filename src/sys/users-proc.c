/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/sysfs.h"
#include "sys/users-search.h"

/* What processes say: their mount namespaces, and what they have open. */

/* Of the path of a cgroup. */
static char *first_unit(char *path)
{
        char *save;

        for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
                const char *dot = strrchr(part, '.');

                if (dot && (streq(dot, ".service") || streq(dot, ".scope")))
                        return strdup(part);
        }
        return NULL;
}

/* The first part of its cgroup that is a unit: what sits below a delegated one is not systemd's to name. */
static char *unit_of(const struct roots *r, const char *pid)
{
        char path[64], text[1024], *save;

        (void) snprintf(path, sizeof(path), "%.16s/cgroup", pid);
        if (attr_read(r->proc, path, text, sizeof(text)) <= 0)
                return NULL;
        /* "0::/system.slice/smbd.service"; with several hierarchies "1:name=systemd:/system.slice/smbd.service" too */
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *id = line + strspn(line, "0123456789");

                if (strncmp(line, "0::/", 4) == 0 || strncmp(id, ":name=systemd:/", 15) == 0)
                        return first_unit(strchr(line, '/'));
        }
        return NULL;
}

void search_who(const struct search *s, struct user *u, const char *pid)
{
        char path[64], command[64];

        u->pid = (pid_t) atol(pid);
        (void) snprintf(path, sizeof(path), "%.16s/comm", pid);
        if (attr_read(s->r->proc, path, command, sizeof(command)) > 0)
                u->command = strdup(command);
        u->unit = unit_of(s->r, pid);
}

bool search_first_sight(struct search *s, const char *namespace)
{
        for (size_t i = 0; i < s->n_namespaces; i++)
                if (streq(s->namespaces[i], namespace))
                        return false;
        return strv_push(&s->namespaces, &s->n_namespaces, namespace) >= 0;
}

struct process {
        struct search *s;
        const char *pid;
        int dir; /* /proc/PID or /proc/PID/fd */
};

/* A descriptor that was opened with O_PATH has nothing open, and its close is told to nobody. */
static bool is_path_only(const struct process *p, const char *fd)
{
        char path[64], text[256], *flags;

        (void) snprintf(path, sizeof(path), "%.16s/fdinfo/%.16s", p->pid, fd);
        if (attr_read(p->s->r->proc, path, text, sizeof(text)) <= 0 || !(flags = strstr(text, "flags:")))
                return false;
        return strtoul(flags + strlen("flags:"), NULL, 8) & O_PATH;
}

static int add_open(const struct process *p, const char *device, const char *below, const char *name)
{
        struct user *u;
        char via[64];

        for (size_t i = 0; i < p->s->n; i++) /* once is enough */
                if (p->s->list[i].kind == USER_OPEN && p->s->list[i].pid == (pid_t) atol(p->pid) &&
                    streq(p->s->list[i].device, device))
                        return 0;
        if (search_enough(p->s, device))
                return 0;
        u = search_add(p->s, USER_OPEN, device);
        if (!u)
                return -ENOMEM;
        search_who(p->s, u, p->pid);
        (void) snprintf(via, sizeof(via), "%.16s/%s%.16s", p->pid, below, name);
        u->via = strdup(via);
        return u->via ? 0 : -ENOMEM;
}

/* A node by its own name. */
static const char *node_named(const struct process *p, const char *name, const char *target)
{
        const char *device = strncmp(target, "/dev/", 5) == 0 ? search_name(p->s, target + 5) : NULL;
        struct stat st;

        /* "/dev/sda (deleted)" is the node of a disk that was; a name alone proves nothing either. */
        if (!device || fstatat(p->dir, name, &st, 0) < 0 || (!S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode)))
                return NULL;
        if (S_ISBLK(st.st_mode) && !luns_have(p->s->luns, p->s->n_luns, major(st.st_rdev), minor(st.st_rdev), NULL))
                return NULL;
        return device;
}

/*
 * A node by another name, in a container's /dev; or a file, of a file system that stands in no mount table any more and
 * stays for those who are inside (umount -l). A file server that does not answer is not asked.
 */
static const char *anything_else(const struct process *p, const char *name)
{
        const char *device = NULL;
        struct statx x;

        if (statx(p->dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &x) < 0)
                return NULL;
        if (S_ISBLK(x.stx_mode))
                (void) luns_have(p->s->luns, p->s->n_luns, x.stx_rdev_major, x.stx_rdev_minor, &device);
        else if (luns_have(p->s->luns, p->s->n_luns, x.stx_dev_major, x.stx_dev_minor, &device) &&
                 search_is_mounted(p->s, device))
                device = NULL; /* what keeps a mount busy is no user of its own */
        return device;
}

static int find_fd(const char *name, void *data)
{
        struct process *p = data;
        const char *device;
        char target[64];
        ssize_t n = readlinkat(p->dir, name, target, sizeof(target) - 1);

        if (n <= 0 || target[0] != '/') /* a pipe, a socket */
                return 0;
        target[n] = '\0';
        device = node_named(p, name, target);
        if (!device)
                device = anything_else(p, name);
        return device && !is_path_only(p, name) ? add_open(p, device, "fd/", name) : 0;
}

static int find_files(struct process *p)
{
        static const char *const links[] = { "cwd", "root", "exe" };
        _cleanup_close_ int dir = openat(p->s->r->proc, p->pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fds = -1;
        const char *device;
        int k = 0;

        if (dir < 0)
                return 0;
        p->dir = dir;
        for (size_t i = 0; k >= 0 && i < ELEMENTSOF(links); i++)
                if ((device = anything_else(p, links[i])))
                        k = add_open(p, device, "", links[i]);
        fds = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (k < 0 || fds < 0)
                return k;
        p->dir = fds;
        return dir_each(fds, ".", find_fd, p);
}

int search_process(const char *pid, void *data)
{
        struct search *s = data;
        char path[64], namespace[64];
        int k = 0;

        if (!isdigit((unsigned char) *pid) || atol(pid) == (long) getpid())
                return 0;
        (void) snprintf(path, sizeof(path), "%.16s/ns/mnt", pid);
        if (link_basename(s->r->proc, path, namespace, sizeof(namespace)) > 0 && search_first_sight(s, namespace)) {
                (void) snprintf(path, sizeof(path), "%.16s/mountinfo", pid);
                k = search_mounts(s, 1, path, namespace, pid);
        }
        if (k != -ENOMEM)
                k = find_files(&(struct process){ s, pid, -1 });
        return k == -ENOMEM ? k : 0; /* processes come and go, and some are not ours to look into */
}
