/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/claim.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/scsi.h>
#include <scsi/sg.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/util.h"
#include "sys/block/counts.h"
#include "sys/io/clock.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

#define STRANGER_TRIES 10
#define STOP_MSEC 60000 /* a large disk needs seconds */
#define STRANGER_PAUSE_USEC 20000

/* O_NONBLOCK also opens an empty slot. As long as the slot is claimed, no process can mount the
 * next card. */
static int node_open(const struct roots *roots, const struct block *b, int flags)
{
        int fd = openat(roots->dev, b->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);
        struct stat st;

        if (fd < 0)
                return -errno;
        /* /dev may lag behind the kernel: the number of the node must be that of the device. */
        if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) ||
            st.st_rdev != makedev(b->major, b->minor)) {
                (void) close(fd);
                return -ENODEV;
        }
        return fd;
}

static int claim_add_node(struct claim *c, const struct block *b, int fd, bool whole,
                          bool exclusive, unsigned lun)
{
        struct claimed node = {
                .fd = fd, .exclusive = exclusive ? fd : -1, .whole = whole, .lun = lun};

        memcpy(node.name, b->name, sizeof(b->name));
        if (list_push(c->nodes, c->n, node))
                return 0;
        (void) close(fd);
        return -ENOMEM;
}

static int claim_take_whole(const struct roots *roots, const struct lun *l, bool exclusive,
                            struct claim *c, char ret_busy[static BLOCK_NAME_MAX])
{
        int fd = node_open(roots, &l->disk, exclusive ? O_EXCL : 0);

        memcpy(ret_busy, l->disk.name, BLOCK_NAME_MAX);
        if (fd < 0)
                return fd;
        return claim_add_node(c, &l->disk, fd, true, exclusive, l->lun);
}

/* Each partition has its own page cache, which fsync of the whole disk does not write. */
static int claim_open_partitions(const struct roots *roots, const struct lun *l, struct claim *c)
{
        for (size_t p = 0; p < l->n_parts; p++) {
                int fd = node_open(roots, &l->parts[p], 0), r;

                if (fd < 0)
                        return fd;
                r = claim_add_node(c, &l->parts[p], fd, false, false, l->lun);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int claim_watch_node(const struct roots *roots, int inotify, const struct block *b)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", roots->dev, b->name);
        if (inotify_add_watch(inotify, path, IN_OPEN | IN_MODIFY | IN_CLOSE) < 0)
                return -errno;
        return 0;
}

static int claim_watch_luns(const struct roots *roots, const struct lun *luns, size_t n_luns,
                            struct claim *c)
{
        int r;

        c->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (c->inotify < 0)
                return -errno;
        for (size_t i = 0; i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                r = claim_watch_node(roots, c->inotify, &luns[i].disk);
                if (r < 0)
                        return r;
                for (size_t p = 0; p < luns[i].n_parts; p++) {
                        r = claim_watch_node(roots, c->inotify, &luns[i].parts[p]);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* Returns the worst disturbance that inotify reports. but: events of only this kind do not count.
 */
static enum disturbance claim_events(const struct claim *c, uint32_t but)
{
        enum disturbance worst = DISTURBANCE_NONE;
        union {
                struct inotify_event event;
                char bytes[4096];
        } buffer;
        ssize_t n;

        while (c->inotify >= 0 && (n = read(c->inotify, &buffer, sizeof(buffer))) > 0)
                for (ssize_t at = 0; at < n;) {
                        const struct inotify_event *e =
                                (const struct inotify_event *) (buffer.bytes + at);

                        /* A queue that overflowed may have lost any event. */
                        if (e->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_Q_OVERFLOW))
                                worst = DISTURBANCE_WRITTEN;
                        else if (worst == DISTURBANCE_NONE && e->mask != but)
                                worst = DISTURBANCE_OPENED;
                        at += (ssize_t) (sizeof(*e) + e->len);
                }
        return worst;
}

static int claim_take_all(const struct roots *roots, const struct lun *luns, size_t n_luns,
                          bool exclusive, struct claim *c, char ret_busy[static BLOCK_NAME_MAX])
{
        int r;

        ret_busy[0] = '\0';
        r = claim_watch_luns(roots, luns, n_luns, c);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_luns; i++) {
                if (!luns[i].disk.name[0])
                        continue;
                r = claim_take_whole(roots, &luns[i], exclusive, c, ret_busy);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int claim_all_partitions(const struct roots *roots, const struct lun *luns, size_t n_luns,
                                struct claim *c)
{
        for (size_t i = 0; i < n_luns; i++) {
                int r = claim_open_partitions(roots, &luns[i], c);

                if (r < 0)
                        return r;
        }
        (void) claim_disturbed(
                c); /* these events are of our own opens; the caller looks in /proc next */
        return 0;
}

int claim_take(const struct roots *roots, const struct lun *luns, size_t n_luns, struct claim *ret,
               char ret_busy[static BLOCK_NAME_MAX])
{
        _cleanup_(claim_drop) struct claim c = CLAIM_NULL;
        int r = claim_take_all(roots, luns, n_luns, true, &c, ret_busy);

        if (r < 0)
                return r;
        r = claim_all_partitions(roots, luns, n_luns, &c);
        if (r < 0)
                return r;
        *ret = TAKE_VALUE(c, CLAIM_NULL);
        return 0;
}

int claim_watch(const struct roots *roots, const struct lun *luns, size_t n_luns, struct claim *ret,
                char ret_failed[static BLOCK_NAME_MAX])
{
        _cleanup_(claim_drop) struct claim c = CLAIM_NULL;
        int r = claim_take_all(roots, luns, n_luns, false, &c, ret_failed);

        if (r < 0)
                return r;
        *ret = TAKE_VALUE(c, CLAIM_NULL);
        return 0;
}

void claim_close_partitions(struct claim *c)
{
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].whole)
                        c->nodes[n++] = c->nodes[i];
                else
                        (void) close(c->nodes[i].fd);
        c->n = n;
}

void claim_keep(struct claim *c)
{
        claim_close_partitions(c);
        c->inotify = close_keep_errno(c->inotify);
}

static int claim_opens(const struct claim *c)
{
        int n = 0;

        for (size_t i = 0; i < c->n; i++)
                n += 1 + (c->nodes[i].exclusive >= 0 && c->nodes[i].exclusive != c->nodes[i].fd);
        return n;
}

bool claim_has_strangers(const struct roots *roots, const struct lun *luns, size_t n_luns,
                         enum driver driver, struct claim *c)
{
        bool strangers = true, partitions = false;

        for (size_t i = 0; i < c->n; i++)
                partitions = partitions || !c->nodes[i].whole;
        /* The kernel counts each open of a partition, or all opens of one as one. So ours are
         * closed before the count. */
        claim_close_partitions(c);
        /* An open may end in a moment. */
        for (int tries = 0; strangers && tries < STRANGER_TRIES; tries++) {
                if (tries > 0)
                        (void) usleep(STRANGER_PAUSE_USEC);
                strangers = driver_opens(roots, driver) > claim_opens(c);
        }
        for (size_t i = 0; partitions && i < n_luns; i++)
                if (claim_open_partitions(roots, &luns[i], c) < 0)
                        return true;
        return strangers;
}

int claim_prepare(const struct roots *roots, const struct lun *luns, size_t n_luns,
                  enum driver driver, struct awake deadline, struct claim *ret,
                  char ret_busy[static BLOCK_NAME_MAX])
{
        _cleanup_(claim_drop) struct claim c = CLAIM_NULL;
        int before = driver_opens(roots, driver),
            r = claim_take_all(roots, luns, n_luns, false, &c, ret_busy);

        if (r < 0)
                return r;
        for (size_t i = 0; i < c.n; i++) {
                memcpy(ret_busy, c.nodes[i].name, BLOCK_NAME_MAX);
                r = lock_until(c.nodes[i].fd, deadline);
                if (r < 0)
                        return r;
        }
        /*
         * No process had a disk of this driver open, and now the driver counts exactly our opens.
         * Then no partition has dirty pages: the last close of a node writes its page cache back.
         * The events of our own opens are read first. An earlier open of another process is
         * counted, a later one is an event.
         */
        (void) claim_disturbed(&c);
        c.alone = before == 0 && driver_opens(roots, driver) == (int) c.n;
        if (!c.alone) {
                r = claim_all_partitions(roots, luns, n_luns, &c);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_VALUE(c, CLAIM_NULL);
        return 0;
}

uint64_t claim_written(const struct roots *roots, const struct claim *c)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].whole)
                        sum += sectors_written(roots, c->nodes[i].name);
        return sum;
}

/* Releases the claim if it has its own descriptor; the node stays open. */
static void node_let_go(struct claimed *node)
{
        if (node->exclusive != node->fd)
                node->exclusive = close_keep_errno(node->exclusive);
}

/* Returns what other processes did meanwhile, as far as the events of our own closes do not hide
 * it. */
static enum disturbance claim_open_door(struct claim *c)
{
        for (size_t i = 0; i < c->n; i++)
                node_let_go(&c->nodes[i]);
        return claim_events(c, 0);
}

static int node_claim(const struct roots *roots, struct claimed *node)
{
        struct stat st;
        struct block b = {0};
        int fd;

        if (fstat(node->fd, &st) < 0)
                return -errno;
        memcpy(b.name, node->name, sizeof(b.name));
        b.major = major(st.st_rdev);
        b.minor = minor(st.st_rdev);
        fd = node_open(roots, &b, O_EXCL);
        if (fd < 0)
                return fd;
        node->exclusive = fd;
        return 0;
}

/*
 * mount(8), fsck and mkfs open a node, read it, and open it exclusively a moment later. inotify
 * reports an open before our claim. A later open changes the driver's count, or inotify reports its
 * close. inotify may merge the event of such an open with those of ours. But we close nothing here,
 * so every close is of another process.
 */
static int claim_try_door(const struct roots *roots, enum driver driver, int opens, struct claim *c,
                          char ret_busy[static BLOCK_NAME_MAX], enum disturbance *d)
{
        int ours = claim_opens(c);

        *d = claim_events(c, 0);
        if (*d != DISTURBANCE_NONE)
                return 0;
        for (size_t i = 0; i < c->n; i++) {
                int r;

                memcpy(ret_busy, c->nodes[i].name, BLOCK_NAME_MAX);
                r = node_claim(roots, &c->nodes[i]);
                if (r < 0)
                        return r;
        }
        *d = claim_events(c, IN_OPEN);
        if (*d == DISTURBANCE_NONE && opens >= 0 &&
            driver_opens(roots, driver) != opens + claim_opens(c) - ours)
                *d = DISTURBANCE_OPENED;
        return 0;
}

int claim_close_door(const struct roots *roots, enum driver driver, int opens, struct claim *c,
                     char ret_busy[static BLOCK_NAME_MAX])
{
        enum disturbance d, last;
        int r = claim_try_door(roots, driver, opens, c, ret_busy, &d);

        if (r == 0 && d == DISTURBANCE_NONE)
                return 0;
        last = claim_open_door(c);
        if (r < 0)
                return r;
        if (d == DISTURBANCE_WRITTEN || last == DISTURBANCE_WRITTEN)
                return -ESTALE;
        return -EAGAIN;
}

bool claim_has(const struct claim *c, unsigned lun)
{
        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].lun == lun && c->nodes[i].exclusive >= 0)
                        return true;
        return false;
}

void claim_let_go(struct claim *c, unsigned lun)
{
        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].lun == lun)
                        node_let_go(&c->nodes[i]);
}

/* The kernel lets a read-only open send this command, without any capability
 * (drivers/scsi/scsi_ioctl.c:scsi_cmd_allowed). */
int claim_stop(const struct claim *c, size_t i)
{
        uint8_t command[6] = {START_STOP}, sense[32];
        struct sg_io_hdr io = {
                .interface_id = 'S',
                .dxfer_direction = SG_DXFER_NONE,
                .cmdp = command,
                .cmd_len = sizeof(command),
                .sbp = sense,
                .mx_sb_len = sizeof(sense),
                .timeout = STOP_MSEC,
        };

        if (c->nodes[i].exclusive < 0)
                return 0;
        if (ioctl(c->nodes[i].exclusive, SG_IO, &io) < 0)
                return -errno;
        if ((io.info & SG_INFO_CHECK) != 0)
                return -EIO;
        return 0;
}

/* fsync may fail on a CD-ROM, a write-protected card or an empty slot. These have nothing to write.
 */
static bool node_has_nothing_to_write(int fd)
{
        uint64_t size;
        int ro;

        return (ioctl(fd, BLKROGET, &ro) >= 0 && ro) ||
               (ioctl(fd, BLKGETSIZE64, &size) >= 0 && size == 0);
}

int claim_sync(const struct claim *c, char ret_failed[static BLOCK_NAME_MAX])
{
        /* Partitions first: the flush of the whole disk then covers their writes. */
        for (int whole = 0; whole < 2; whole++)
                for (size_t i = 0; i < c->n; i++)
                        if (c->nodes[i].whole == (whole == 1) && fsync(c->nodes[i].fd) < 0) {
                                int r = -errno;

                                if (node_has_nothing_to_write(c->nodes[i].fd))
                                        continue;
                                memcpy(ret_failed, c->nodes[i].name, BLOCK_NAME_MAX);
                                return r;
                        }
        return 0;
}

enum disturbance claim_disturbed(const struct claim *c)
{
        return claim_events(c, 0);
}

void claim_close(struct claim *c)
{
        for (size_t i = 0; i < c->n; i++) {
                node_let_go(&c->nodes[i]);
                (void) close_keep_errno(c->nodes[i].fd);
        }
        free(c->nodes);
        c->nodes = NULL;
        c->n = 0;
}

void claim_drop(struct claim *c)
{
        claim_close(c);
        c->inotify = close_keep_errno(c->inotify);
}
