/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves the measured disk between its drivers: under a lease, or with its file system unmounted meanwhile. */
#include "bench/measure/subject.h"

#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bench/spawn.h"
#include "client/client.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/usb/usbdisk.h"
#include "term/terminal.h"

/* Longer than a switch with its rollback takes; and longer than udev needs for a node. */
#define SWITCH_USEC (150 * USEC_PER_SEC)
#define NODE_USEC (10 * USEC_PER_SEC)
/* Longer than the daemon takes to switch the disk back. */
#define OVER_USEC (60 * USEC_PER_SEC)
#define AGAIN_USEC (500 * USEC_PER_MSEC)
#define MOUNTS "/proc/self/mounts"
/* systemd unmounts a file system of fstab if it does not know the new device yet. So the mount counts if it lasts. */
#define LASTS_USEC (500 * USEC_PER_MSEC)
#define ATTEMPTS 5

/* The node of the LUN, and the history of the disk. */
static void take_view(struct subject *s, const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (v->disk.luns[i].lun == s->lun && v->disk.luns[i].disk.name[0])
                        (void) copy_string(s->block, sizeof(s->block), v->disk.luns[i].disk.name);
        if (streq(s->history, v->history))
                return;
        (void) copy_string(s->history, sizeof(s->history), v->history);
        s->distrusted = startswith(v->history, "distrusted");
}

/* Reads the disk again. A signal that is still on its way may have its new node. */
static int read_again(struct subject *s)
{
        int k = daemon_watch_refresh(&s->watch);
        const struct view *v = views_find(&s->watch.disks, s->interface);

        s->watch.changed = k == -ETIMEDOUT; /* the daemon is busy; the descriptor shows the end of the lease */
        if (k < 0)
                return k == -ETIMEDOUT ? 0 : -EPIPE;
        if (!v)
                return -ENODEV;
        take_view(s, v);
        return 0;
}

int lease_look(struct subject *s)
{
        struct pollfd end = {s->lease, 0, 0}; /* without a lease it is -1, which poll() ignores */
        int k = s->watch.remote ? daemon_watch_next(&s->watch, 0) : 0;

        if ((k < 0 && k != -ETIMEDOUT) || s->watch.gone)
                return -EPIPE;
        k = s->watch.changed ? read_again(s) : 0;
        if (k < 0 || poll(&end, 1, 0) <= 0 || !(end.revents & (POLLHUP | POLLERR | POLLNVAL)))
                return k;
        /* The daemon has closed its end. An unplugged disk also ends its lease. The two events may arrive in any order. */
        return read_again(s) == -ENODEV ? -ENODEV : -EPIPE;
}

/* Waits for the end of the job. Returns the exit status of the switch, or of the event that ended the wait. */
static int await_job(struct subject *s)
{
        uint64_t deadline = now_boottime() + SWITCH_USEC;

        for (;;) {
                int k = daemon_watch_next(&s->watch, deadline);

                if (s->watch.ended) {
                        (void) copy_string(s->why, sizeof(s->why), s->watch.outcome.text);
                        if (s->why[0] && s->why[strlen(s->why) - 1] == '.') /* the text becomes part of a sentence */
                                s->why[strlen(s->why) - 1] = '\0';
                        return s->watch.outcome.code < 0 ? UASD_EXIT_FAILED : s->watch.outcome.code;
                }
                if (k < 0 || s->watch.gone) {
                        (void) copy_string(s->why, sizeof(s->why),
                                           k == -ETIMEDOUT ? "the switch does not end" : "uasd is not there any more");
                        return UASD_EXIT_FAILED;
                }
                s->watch.changed = false;
        }
}

/* The bus may report the end before udev has made the node. */
static bool await_node(struct subject *s)
{
        uint64_t deadline = now_boottime() + NODE_USEC;

        while (read_again(s) < 0 || faccessat(s->context->client.roots.dev, s->block, R_OK, 0) < 0) {
                if (now_boottime() >= deadline)
                        return false;
                (void) daemon_watch_next(&s->watch, now_boottime() + 200 * USEC_PER_MSEC);
        }
        return true;
}

static int switch_disk(struct subject *s, enum driver to)
{
        _cleanup_free_ char *job = NULL;
        int code;

        s->why[0] = '\0';
        code = request_call(&s->context->client, &s->remote,
                            &(struct remote_call){.method = "Switch", .disk = s->interface, .value = driver_to_string(to)}, &job);
        if (code != UASD_EXIT_OK) {
                (void) copy_string(s->why, sizeof(s->why), "uasd did not begin the switch");
                return code;
        }
        s->watch.job = job;
        s->watch.ended = false;
        code = await_job(s);
        s->watch.job = NULL;
        s->watch.ended = false;
        if (s->lease < 0 && code != UASD_EXIT_OK && code != UASD_EXIT_ROLLED_BACK) { /* it must not happen later */
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

                (void) remote_call(&s->remote, &(struct remote_call){.method = "Cancel", .disk = s->interface}, NULL, &error);
        }
        if (!await_node(s) && code == UASD_EXIT_OK) {
                (void) copy_string(s->why, sizeof(s->why), "its node did not come back");
                code = UASD_EXIT_FAILED;
        }
        return code;
}

void lease_tell_kept_off(const struct subject *s)
{
        log_info("The disk failed under uas, so it stays on usb-storage until it is unplugged. 'uasctl switch %s' ends that.",
                 s->interface);
}

void lease_keep_off_uas(struct subject *s)
{
        struct remote_call call = {.method = "Switch", .disk = s->interface, .value = DRIVER_NAME_BOT};
        uint64_t deadline = now_boottime() + OVER_USEC;

        for (;;) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_(remote_close) struct remote remote = {};
                _cleanup_(views_done) struct views views = {};
                int k;

                /* A new connection: over that of the lease it would be a switch under the lease. */
                if (source_connect(&s->context->client, &remote, &views) != UASD_EXIT_OK)
                        return;
                k = remote_call(&remote, &call, NULL, &error);
                if (k >= 0) {
                        lease_tell_kept_off(s);
                        return;
                }
                if (!sd_bus_error_has_name(&error, UASD_BUS_ERROR_IN_USE) || now_boottime() >= deadline) {
                        log_info("The disk failed under uas, but goes back to it: %s", error.message ?: strerror(-k));
                        return;
                }
                (void) usleep(AGAIN_USEC);
        }
}

/* ---- --remount ---- */

void remount_done(struct remount *m)
{
        free(m->target);
        free(m->type);
        free(m->options);
        *m = (struct remount){};
}

/* The last mount with the longest path hides the others. device: gets the node, "" for none. */
static int read_mount(const char *path, struct remount *ret, char *device, size_t size)
{
        FILE *f = setmntent(MOUNTS, "re");
        size_t longest = 0;

        if (!f)
                return -errno;
        for (struct mntent *e; (e = getmntent(f));) {
                if (!path_is_in(path, e->mnt_dir) || strlen(e->mnt_dir) < longest)
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

                if (disk[0] && startswith(name, disk))
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
        if (!*ret_view || startswith(ret->type, "fuse"))
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
#define RUN(...) spawn_simple((char *[]){__VA_ARGS__, NULL}, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO)

static bool is_mounted(const struct remount *m, const char *node)
{
        _cleanup_(remount_done) struct remount now = {};
        char device[PATH_MAX] = "";
        struct stat a, b;

        (void) read_mount(m->target, &now, device, sizeof(device));
        return now.target && streq(now.target, m->target) && stat(node, &a) == 0 && stat(device, &b) == 0 &&
               a.st_rdev == b.st_rdev;
}

/* If the disk did not come back, another one may have its name. */
static bool has_node(const struct subject *s, const char *node)
{
        char interface[INTERFACE_NAME_MAX];

        return access(node, F_OK) == 0 && usb_disk_of_block(&s->context->client.roots, s->block, interface) >= 0 &&
               streq(interface, s->interface);
}

/* Waits for udev's node, and mounts, if no other program has. */
static int bring_back(struct subject *s)
{
        struct remount *m = &s->remount;
        uint64_t deadline = now_boottime() + NODE_USEC;
        char node[sizeof("/dev/") + 2 * BLOCK_NAME_MAX];
        int r = -ENOENT;

        (void) snprintf(node, sizeof(node), "/dev/%s%s", s->block, m->partition);
        while (!has_node(s, node) && now_boottime() < deadline)
                (void) usleep(100 * USEC_PER_MSEC);
        for (unsigned i = 0; i < ATTEMPTS && has_node(s, node); i++) {
                /* Another program may mount it at the same time, or have it claimed for a moment. */
                r = is_mounted(m, node) ? 0 : RUN("/bin/mount", "-t", m->type, "-o", m->options, node, m->target);
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
        int r = m->away ? 0 : RUN("/bin/umount", m->target);

        m->away = m->away || r >= 0;
        return r;
}

static int switch_mounted(struct subject *s, enum driver to)
{
        const char *target = s->remount.target;
        int code;

        s->scratch = close_keep_errno(s->scratch); /* it ends with its mount */
        if (take_away(&s->remount) < 0) {
                (void) snprintf(s->why, sizeof(s->why), "'%.200s' cannot be unmounted", target);
                return UASD_EXIT_REFUSED;
        }
        code = switch_disk(s, to);
        if (bring_back(s) < 0 && code == UASD_EXIT_OK) {
                (void) snprintf(s->why, sizeof(s->why), "'%.200s' is not mounted again", target);
                code = UASD_EXIT_FAILED;
        }
        return code;
}

/* ---- both ---- */

/* The daemon knows a disk by its interface. The user may have answered a question meanwhile: time enough to exchange disks. */
static int same_disk(const struct subject *s)
{
        const struct view *now = views_find(&s->watch.disks, s->interface);
        const struct facts *was = &s->view->disk.facts;

        if (now && subject_is_there(s) && now->disk.facts.vid == was->vid && now->disk.facts.pid == was->pid &&
            streq(now->disk.facts.serial, was->serial))
                return UASD_EXIT_OK;
        return log_failure(UASD_EXIT_NO_DISK, "%s: was unplugged meanwhile. Nothing has been measured.", VIEW_LABEL(s->view));
}

int bench_lease_begin(struct subject *s)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int k, fd;

        s->watch.disk = s->interface;
        s->watch.on_step = progress_show;
        k = daemon_watch_open(&s->watch, &s->remote);
        if (k < 0)
                return source_lost(k);
        k = same_disk(s);
        if (k != UASD_EXIT_OK)
                return k;
        s->block[0] = '\0';
        take_view(s, views_find(&s->watch.disks, s->interface));
        s->distrusted = false; /* an earlier record is not new */
        if (!s->block[0])
                return UASD_EXIT_NO_DISK;
        if (s->remounts && take_away(&s->remount) < 0)
                return log_failure(UASD_EXIT_REFUSED, "Cannot unmount '%s', so the drivers cannot be compared.",
                                   s->remount.target);
        if (s->remounts)
                return bring_back(s) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        k = request_reply(&s->context->client, &s->remote, &(struct remote_call){.method = "Lease", .disk = s->interface},
                          &reply);
        if (k != UASD_EXIT_OK)
                return k;
        if (sd_bus_message_read(reply, "h", &fd) >= 0)
                s->lease = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the message closes its own descriptor */
        if (s->lease < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the answer of uasd.");
        return same_disk(s); /* the lease is of this one */
}

void lease_end(struct subject *s)
{
        if (s->watch.remote)
                daemon_watch_close(&s->watch);
        s->watch = DAEMON_WATCH_NULL;
        s->lease = close_keep_errno(s->lease);
}

int lease_switch(struct subject *s, enum driver to)
{
        return s->remounts ? switch_mounted(s, to) : switch_disk(s, to);
}
