/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/subject.h"

#include <limits.h>
#include <mntent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bench/spawn.h"
#include "common/log.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

#define MOUNTS "/proc/self/mounts"
#define NODE_USEC (10 * USEC_PER_SEC)
/* systemd unmounts a file system of fstab if it does not know the new device yet. So the mount counts if it lasts. */
#define LASTS_USEC (500 * USEC_PER_MSEC)
#define ATTEMPTS 5

void remount_done(struct remount *m)
{
        free(m->target);
        free(m->type);
        free(m->options);
        *m = (struct remount){};
}

static bool is_below(const char *path, const char *directory)
{
        size_t n = strlen(directory);

        return streq(directory, "/") || (strncmp(path, directory, n) == 0 && (path[n] == '/' || !path[n]));
}

/* The last mount with the longest path hides the others. device: gets the node, "" for none. */
static int read_mount(const char *path, struct remount *ret, char *device, size_t size)
{
        FILE *f = setmntent(MOUNTS, "re");
        size_t longest = 0;

        if (!f)
                return -errno;
        for (struct mntent *e; (e = getmntent(f));) {
                if (!is_below(path, e->mnt_dir) || strlen(e->mnt_dir) < longest)
                        continue;
                longest = strlen(e->mnt_dir);
                remount_done(ret);
                ret->target = need(strdup(e->mnt_dir));
                ret->type = need(strdup(e->mnt_type));
                ret->options = need(strdup(e->mnt_opts));
                (void) copy_string(device, size, e->mnt_fsname);
        }
        (void) endmntent(f);
        return ret->target ? 0 : -ENOENT;
}

/* The whole disk of a partition, by its name. */
static const char *disk_of(const struct view *v, const char *name)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const char *disk = v->disk.luns[i].disk.name;

                if (disk[0] && strncmp(name, disk, strlen(disk)) == 0)
                        return disk;
        }
        return name;
}

int remount_find(const char *path, const struct views *views, struct remount *ret, const struct view **ret_view,
                 const char **ret_name)
{
        _cleanup_free_ char *real = realpath(path, NULL);
        const char *name = NULL;
        char device[PATH_MAX] = "";
        struct stat st;
        int r = real ? read_mount(real, ret, device, sizeof(device)) : -errno;

        *ret_view = NULL;
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot find the file system of '%s': %s", path, strerror(-r));
        for (size_t i = 0; i < views->n && !*ret_view && stat(device, &st) == 0 && S_ISBLK(st.st_mode); i++) {
                const struct disk *d = &views->list[i].disk;

                if (luns_have(d->luns, d->n_luns, major(st.st_rdev), minor(st.st_rdev), &name))
                        *ret_view = &views->list[i];
        }
        if (!*ret_view || strncmp(ret->type, "fuse", strlen("fuse")) == 0)
                return log_failure(UASD_EXIT_REFUSED,
                                   "Cannot unmount and mount '%s': it is no file system of the kernel directly on a USB disk.",
                                   ret->target);
        *ret_name = disk_of(*ret_view, name);
        (void) copy_string(ret->partition, sizeof(ret->partition), name + strlen(*ret_name));
        return UASD_EXIT_OK;
}

bool remount_is_alone(const struct remount *m, const struct view *v)
{
        char text[512];

        for (size_t i = 0; i < v->disk.n_users; i++) {
                const struct user *u = &v->disk.users[i];

                if (u->kind == USER_MOUNT && !u->namespace && u->where && streq(u->where, m->target))
                        continue;
                return log_failure(false, "%s: cannot be unmounted for a switch. It is also in use: %s", VIEW_LABEL(v),
                                   user_text(u, text, sizeof(text)));
        }
        return true;
}

/* Runs mount(8) or umount(8), which print their own errors. Ctrl+C does not stop it halfway. Returns 0, or -errno. */
static int run(char *const *arguments)
{
        static const int fds[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
        struct rusage usage;
        int r = spawn(&(struct spawn){.program = arguments[0], arguments, .fds = fds, .n_fds = ELEMENTSOF(fds)}, &usage);

        return r > 0 ? -EPROTO : r;
}

static bool is_mounted(const struct remount *m, const char *node)
{
        _cleanup_(remount_done) struct remount now = {};
        char device[PATH_MAX] = "";
        struct stat a, b;

        (void) read_mount(m->target, &now, device, sizeof(device));
        return now.target && streq(now.target, m->target) && stat(node, &a) == 0 && stat(device, &b) == 0 &&
               a.st_rdev == b.st_rdev;
}

/* Waits for udev's node, and mounts, if no other program has. */
static int bring_back(struct subject *s)
{
        struct remount *m = &s->remount;
        uint64_t deadline = now_boottime() + NODE_USEC;
        char node[sizeof("/dev/") + 2 * BLOCK_NAME_MAX];
        int r = -ENOENT;

        (void) snprintf(node, sizeof(node), "/dev/%s%s", s->block, m->partition);
        while (access(node, F_OK) < 0 && now_boottime() < deadline)
                (void) usleep(100 * USEC_PER_MSEC);
        for (unsigned i = 0; i < ATTEMPTS && access(node, F_OK) == 0; i++) {
                /* Another program may mount it at the same time, or have it claimed for a moment. */
                r = is_mounted(m, node) ? 0
                                        : run((char *[]){"/bin/mount", "-t", m->type, "-o", m->options, node, m->target, NULL});
                (void) usleep(LASTS_USEC);
                if (is_mounted(m, node)) {
                        m->away = false;
                        return 0;
                }
        }
        return log_failure(r < 0 ? r : -EPROTO, "Cannot mount %s on %s again. Its options were: -t %s -o %s", node, m->target,
                           m->type, m->options);
}

static int take_away(struct remount *m)
{
        int r = m->away ? 0 : run((char *[]){"/bin/umount", m->target, NULL});

        m->away = m->away || r >= 0;
        return r;
}

int remount_try(struct subject *s)
{
        if (take_away(&s->remount) < 0)
                return log_failure(UASD_EXIT_REFUSED, "Cannot unmount '%s', so the drivers cannot be compared.",
                                   s->remount.target);
        return bring_back(s) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}

int remount_switch(struct subject *s, enum driver to)
{
        const char *target = s->remount.target;
        int code;

        if (take_away(&s->remount) < 0) {
                (void) snprintf(s->why, sizeof(s->why), "'%.200s' cannot be unmounted", target);
                return UASD_EXIT_REFUSED;
        }
        code = lease_switch(s, to);
        if (bring_back(s) < 0 && code == UASD_EXIT_OK) {
                (void) snprintf(s->why, sizeof(s->why), "'%.200s' is not mounted again", target);
                code = UASD_EXIT_FAILED;
        }
        return code;
}
