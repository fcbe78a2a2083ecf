/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/claim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

#include "common/util.h"
#include "sys/marks.h"
#include "sys/opens.h"

#define STRANGER_TRIES 10
#define STRANGER_PAUSE_USEC 20000

static int node_open(const struct roots *r, const struct block *b, int flags)
{
        int fd = openat(r->dev, b->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);
        struct stat st;

        if (fd < 0)
                return -errno;
        /* /dev may lag behind the kernel: the node has to be this very device. */
        if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) || st.st_rdev != makedev(b->major, b->minor)) {
                (void) close(fd);
                return -ENODEV;
        }
        return fd;
}

static void on_alarm(int signal)
{
}

/* Blocks in flock(2) rather than asking again and again; the timer repeats, so that no tick can fall between. */
static int lock_until(int fd, uint64_t deadline)
{
        const struct sigaction act = { .sa_handler = on_alarm };
        struct itimerval timer = { .it_interval.tv_usec = 50000 }, off = { 0 };
        struct sigaction before;
        uint64_t now = now_boottime();
        int r = 0;

        if (flock(fd, LOCK_EX | LOCK_NB) >= 0)
                return 0;
        if (errno != EWOULDBLOCK)
                return -errno;
        if (now >= deadline)
                return -ETIMEDOUT;
        timer.it_value.tv_sec = (time_t) ((deadline - now) / USEC_PER_SEC);
        timer.it_value.tv_usec = (suseconds_t) ((deadline - now) % USEC_PER_SEC) + 1;
        (void) sigaction(SIGALRM, &act, &before);
        (void) setitimer(ITIMER_REAL, &timer, NULL);
        while (flock(fd, LOCK_EX) < 0) {
                r = errno != EINTR ? -errno : now_boottime() >= deadline ? -ETIMEDOUT : 0;
                if (r < 0)
                        break;
        }
        (void) setitimer(ITIMER_REAL, &off, NULL);
        (void) sigaction(SIGALRM, &before, NULL);
        return r;
}

static int add_node(struct claim *c, const struct block *b, int fd, bool whole, unsigned lun)
{
        struct claimed *grown = realloc(c->nodes, (c->n + 1) * sizeof(*grown));

        if (!grown) {
                (void) close(fd);
                return -ENOMEM;
        }
        c->nodes = grown;
        grown[c->n] = (struct claimed){ .fd = fd, .whole = whole, .lun = lun };
        memcpy(grown[c->n].name, b->name, sizeof(b->name));
        c->n++;
        return 0;
}

static int take_whole(const struct roots *r, const struct lun *l, bool lock, uint64_t deadline, struct claim *c,
                      char ret_busy[static BLOCK_NAME_MAX])
{
        int fd = node_open(r, &l->disk, O_EXCL), k;

        memcpy(ret_busy, l->disk.name, BLOCK_NAME_MAX);
        if (fd == -ENOMEDIUM) /* an empty slot has nothing to claim */
                return 0;
        if (fd < 0)
                return fd;
        k = add_node(c, &l->disk, fd, true, l->lun);
        return k >= 0 && lock ? lock_until(fd, deadline) : k;
}

/* Each partition has a page cache of its own, which fsync of the whole disk does not write. */
static int open_partitions(const struct roots *r, const struct lun *l, struct claim *c)
{
        int k = 0;

        for (size_t p = 0; k >= 0 && p < l->n_parts; p++) {
                int fd = node_open(r, &l->parts[p], 0);
                k = fd < 0 ? fd : add_node(c, &l->parts[p], fd, false, l->lun);
        }
        return k;
}

static int watch_node(const struct roots *r, int inotify, const struct block *b)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", r->dev, b->name);
        return inotify_add_watch(inotify, path, IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE) < 0 ? -errno : 0;
}

static int watch_luns(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *c)
{
        int k = 0;

        c->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (c->inotify < 0)
                return -errno;
        for (size_t i = 0; k >= 0 && i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                k = watch_node(r, c->inotify, &luns[i].disk);
                for (size_t p = 0; k >= 0 && p < luns[i].n_parts; p++)
                        k = watch_node(r, c->inotify, &luns[i].parts[p]);
        }
        return k;
}

int claim_take(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, bool lock,
               uint64_t deadline, struct claim *ret, char ret_busy[static BLOCK_NAME_MAX])
{
        struct claim c = CLAIM_NULL;
        int before, k;

        ret_busy[0] = '\0';
        k = watch_luns(r, luns, n_luns, &c);
        before = driver_opens(r, driver);
        for (size_t i = 0; k >= 0 && i < n_luns; i++)
                if (luns[i].disk.name[0])
                        k = take_whole(r, &luns[i], lock, deadline, &c, ret_busy);
        /*
         * Nobody had any disk of this driver open, and now exactly our claims are counted. Then no partition holds a dirty page
         * either: the last close of a node writes its page cache back. Our own opens are taken off inotify before that: whoever came
         * earlier is counted, whoever comes later is told of.
         */
        (void) claim_disturbed(&c);
        c.alone = k >= 0 && before == 0 && driver_opens(r, driver) == (int) c.n;
        if (k >= 0 && !c.alone) {
                for (size_t i = 0; k >= 0 && i < n_luns; i++)
                        k = open_partitions(r, &luns[i], &c);
                (void) claim_disturbed(&c); /* the caller looks in /proc next */
        }
        if (k < 0) {
                claim_drop(&c);
                return k;
        }
        *ret = c;
        return 0;
}

bool claim_has_strangers(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, struct claim *c)
{
        bool strangers = true;
        size_t n = 0;

        /* Opens of a partition count each or once, as the kernel pleases: ours are not to be among them. */
        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].whole)
                        c->nodes[n++] = c->nodes[i];
                else
                        (void) close(c->nodes[i].fd);
        c->n = n;
        /* Somebody may just have had a look at it. */
        for (int tries = 0; strangers && tries < STRANGER_TRIES; tries++) {
                if (tries > 0)
                        (void) usleep(STRANGER_PAUSE_USEC);
                strangers = driver_opens(r, driver) > (int) c->n;
        }
        for (size_t i = 0; i < n_luns; i++)
                if (open_partitions(r, &luns[i], c) < 0)
                        return true;
        return strangers;
}

int claim_sync(const struct claim *c, char ret_failed[static BLOCK_NAME_MAX])
{
        /* Partitions first: the whole disk's flush then covers what they wrote. */
        for (int whole = 0; whole < 2; whole++)
                for (size_t i = 0; i < c->n; i++)
                        if (c->nodes[i].whole == (whole == 1) && fsync(c->nodes[i].fd) < 0) {
                                /* A CD-ROM has nothing to sync, and says so. */
                                if (errno == EINVAL || errno == EROFS || errno == ENOMEDIUM)
                                        continue;
                                memcpy(ret_failed, c->nodes[i].name, BLOCK_NAME_MAX);
                                return -errno;
                        }
        return 0;
}

enum disturbance claim_disturbed(const struct claim *c)
{
        enum disturbance worst = DISTURBANCE_NONE;
        union {
                struct inotify_event event;
                char bytes[4096];
        } buffer;
        ssize_t n;

        while (c->inotify >= 0 && (n = read(c->inotify, &buffer, sizeof(buffer))) > 0)
                for (ssize_t at = 0; at < n;) {
                        const struct inotify_event *e = (const struct inotify_event *) (buffer.bytes + at);

                        /* A queue that overflowed may have held anything. */
                        if (e->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_Q_OVERFLOW))
                                worst = DISTURBANCE_WRITTEN;
                        else if (worst == DISTURBANCE_NONE)
                                worst = DISTURBANCE_OPENED;
                        at += (ssize_t) (sizeof(*e) + e->len);
                }
        return worst;
}

void claim_drop(struct claim *c)
{
        for (size_t i = 0; i < c->n; i++)
                (void) close_keep_errno(c->nodes[i].fd);
        free(c->nodes);
        c->inotify = close_keep_errno(c->inotify);
        c->nodes = NULL;
        c->n = 0;
}
