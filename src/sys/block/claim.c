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

/* O_NONBLOCK also opens an empty slot. As long as the slot is claimed, no process can mount the next card. */
static int node_open(const struct roots *r, const struct block *b, int flags)
{
        int fd = openat(r->dev, b->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);
        struct stat st;

        if (fd < 0)
                return -errno;
        /* /dev may lag behind the kernel: the number of the node must be that of the device. */
        if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) || st.st_rdev != makedev(b->major, b->minor)) {
                (void) close(fd);
                return -ENODEV;
        }
        return fd;
}

static int add_node(struct claim *c, const struct block *b, int fd, bool whole, bool exclusive, unsigned lun)
{
        struct claimed node = {.fd = fd, .exclusive = exclusive ? fd : -1, .whole = whole, .lun = lun};

        memcpy(node.name, b->name, sizeof(b->name));
        if (list_push(c->nodes, c->n, node))
                return 0;
        (void) close(fd);
        return -ENOMEM;
}

static int take_whole(const struct roots *r, const struct lun *l, bool exclusive, struct claim *c,
                      char ret_busy[static BLOCK_NAME_MAX])
{
        int fd = node_open(r, &l->disk, exclusive ? O_EXCL : 0);

        memcpy(ret_busy, l->disk.name, BLOCK_NAME_MAX);
        return fd < 0 ? fd : add_node(c, &l->disk, fd, true, exclusive, l->lun);
}

/* Each partition has its own page cache, which fsync of the whole disk does not write. */
static int open_partitions(const struct roots *r, const struct lun *l, struct claim *c)
{
        int k = 0;

        for (size_t p = 0; k >= 0 && p < l->n_parts; p++) {
                int fd = node_open(r, &l->parts[p], 0);
                k = fd < 0 ? fd : add_node(c, &l->parts[p], fd, false, false, l->lun);
        }
        return k;
}

static int watch_node(const struct roots *r, int inotify, const struct block *b)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i/%s", r->dev, b->name);
        return inotify_add_watch(inotify, path, IN_OPEN | IN_MODIFY | IN_CLOSE) < 0 ? -errno : 0;
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

/* Returns the worst disturbance that inotify reports. but: events of only this kind do not count. */
static enum disturbance events(const struct claim *c, uint32_t but)
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

                        /* A queue that overflowed may have lost any event. */
                        if (e->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_Q_OVERFLOW))
                                worst = DISTURBANCE_WRITTEN;
                        else if (worst == DISTURBANCE_NONE && e->mask != but)
                                worst = DISTURBANCE_OPENED;
                        at += (ssize_t) (sizeof(*e) + e->len);
                }
        return worst;
}

static int take_all(const struct roots *r, const struct lun *luns, size_t n_luns, bool exclusive, struct claim *c,
                    char ret_busy[static BLOCK_NAME_MAX])
{
        int k;

        ret_busy[0] = '\0';
        k = watch_luns(r, luns, n_luns, c);
        for (size_t i = 0; k >= 0 && i < n_luns; i++)
                if (luns[i].disk.name[0])
                        k = take_whole(r, &luns[i], exclusive, c, ret_busy);
        return k;
}

static int all_partitions(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *c)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < n_luns; i++)
                k = open_partitions(r, &luns[i], c);
        (void) claim_disturbed(c); /* these events are of our own opens; the caller looks in /proc next */
        return k;
}

/* Gives the claim to the caller; k: an error drops it. */
static int hand_over(struct claim *c, int k, struct claim *ret)
{
        if (k < 0)
                claim_drop(c);
        else
                *ret = *c;
        return k < 0 ? k : 0;
}

int claim_take(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *ret,
               char ret_busy[static BLOCK_NAME_MAX])
{
        struct claim c = CLAIM_NULL;
        int k = take_all(r, luns, n_luns, true, &c, ret_busy);

        if (k >= 0)
                k = all_partitions(r, luns, n_luns, &c);
        return hand_over(&c, k, ret);
}

int claim_watch(const struct roots *r, const struct lun *luns, size_t n_luns, struct claim *ret,
                char ret_failed[static BLOCK_NAME_MAX])
{
        struct claim c = CLAIM_NULL;
        int k = take_all(r, luns, n_luns, false, &c, ret_failed);

        return hand_over(&c, k, ret);
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

bool claim_has_strangers(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, struct claim *c)
{
        bool strangers = true, partitions = false;

        for (size_t i = 0; i < c->n; i++)
                partitions = partitions || !c->nodes[i].whole;
        /* The kernel counts each open of a partition, or all opens of one as one. So ours are closed before the count. */
        claim_close_partitions(c);
        /* An open may end in a moment. */
        for (int tries = 0; strangers && tries < STRANGER_TRIES; tries++) {
                if (tries > 0)
                        (void) usleep(STRANGER_PAUSE_USEC);
                strangers = driver_opens(r, driver) > claim_opens(c);
        }
        for (size_t i = 0; partitions && i < n_luns; i++)
                if (open_partitions(r, &luns[i], c) < 0)
                        return true;
        return strangers;
}

int claim_prepare(const struct roots *r, const struct lun *luns, size_t n_luns, enum driver driver, struct awake deadline,
                  struct claim *ret, char ret_busy[static BLOCK_NAME_MAX])
{
        struct claim c = CLAIM_NULL;
        int before = driver_opens(r, driver), k = take_all(r, luns, n_luns, false, &c, ret_busy);

        for (size_t i = 0; k >= 0 && i < c.n; i++) {
                memcpy(ret_busy, c.nodes[i].name, BLOCK_NAME_MAX);
                k = lock_until(c.nodes[i].fd, deadline);
        }
        /*
         * No process had a disk of this driver open, and now the driver counts exactly our opens. Then no partition has dirty
         * pages: the last close of a node writes its page cache back. The events of our own opens are read first. An earlier open
         * of another process is counted, a later one is an event.
         */
        (void) claim_disturbed(&c);
        c.alone = k >= 0 && before == 0 && driver_opens(r, driver) == (int) c.n;
        if (k >= 0 && !c.alone)
                k = all_partitions(r, luns, n_luns, &c);
        return hand_over(&c, k, ret);
}

uint64_t claim_written(const struct roots *r, const struct claim *c)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < c->n; i++)
                sum += c->nodes[i].whole ? sectors_written(r, c->nodes[i].name) : 0;
        return sum;
}

/* Releases the claim if it has its own descriptor; the node stays open. */
static void let_go(struct claimed *node)
{
        if (node->exclusive != node->fd)
                node->exclusive = close_keep_errno(node->exclusive);
}

/* Returns what other processes did meanwhile, as far as the events of our own closes do not hide it. */
static enum disturbance open_door(struct claim *c)
{
        for (size_t i = 0; i < c->n; i++)
                let_go(&c->nodes[i]);
        return events(c, 0);
}

static int claim_node(const struct roots *r, struct claimed *node)
{
        struct stat st;
        struct block b = {0};
        int fd;

        if (fstat(node->fd, &st) < 0)
                return -errno;
        memcpy(b.name, node->name, sizeof(b.name));
        b.major = major(st.st_rdev);
        b.minor = minor(st.st_rdev);
        fd = node_open(r, &b, O_EXCL);
        if (fd < 0)
                return fd;
        node->exclusive = fd;
        return 0;
}

/*
 * mount(8), fsck and mkfs open a node, read it, and open it exclusively a moment later. inotify reports an open before our claim.
 * A later open changes the driver's count, or inotify reports its close. inotify may merge the event of such an open with those
 * of ours. But we close nothing here, so every close is of another process.
 */
int claim_close_door(const struct roots *r, enum driver driver, int opens, struct claim *c, char ret_busy[static BLOCK_NAME_MAX])
{
        int ours = claim_opens(c), k = 0;
        enum disturbance d = events(c, 0);

        for (size_t i = 0; k >= 0 && d == DISTURBANCE_NONE && i < c->n; i++) {
                memcpy(ret_busy, c->nodes[i].name, BLOCK_NAME_MAX);
                k = claim_node(r, &c->nodes[i]);
        }
        if (d == DISTURBANCE_NONE)
                d = events(c, IN_OPEN);
        if (d == DISTURBANCE_NONE && k >= 0 && opens >= 0 && driver_opens(r, driver) != opens + claim_opens(c) - ours)
                d = DISTURBANCE_OPENED;
        if (d != DISTURBANCE_NONE || k < 0) {
                enum disturbance last = open_door(c);

                if (k >= 0)
                        k = d == DISTURBANCE_WRITTEN || last == DISTURBANCE_WRITTEN ? -ESTALE : -EAGAIN;
        }
        return k;
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
                        let_go(&c->nodes[i]);
}

/* The kernel lets a read-only open send this command, without any capability (drivers/scsi/scsi_ioctl.c:scsi_cmd_allowed). */
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
        return (io.info & SG_INFO_CHECK) != 0 ? -EIO : 0;
}

/* fsync may fail on a CD-ROM, a write-protected card or an empty slot. These have nothing to write. */
static bool nothing_to_write(int fd)
{
        uint64_t size;
        int ro;

        return (ioctl(fd, BLKROGET, &ro) >= 0 && ro) || (ioctl(fd, BLKGETSIZE64, &size) >= 0 && size == 0);
}

int claim_sync(const struct claim *c, char ret_failed[static BLOCK_NAME_MAX])
{
        /* Partitions first: the flush of the whole disk then covers their writes. */
        for (int whole = 0; whole < 2; whole++)
                for (size_t i = 0; i < c->n; i++)
                        if (c->nodes[i].whole == (whole == 1) && fsync(c->nodes[i].fd) < 0) {
                                int r = -errno;

                                if (nothing_to_write(c->nodes[i].fd))
                                        continue;
                                memcpy(ret_failed, c->nodes[i].name, BLOCK_NAME_MAX);
                                return r;
                        }
        return 0;
}

enum disturbance claim_disturbed(const struct claim *c)
{
        return events(c, 0);
}

void claim_close(struct claim *c)
{
        for (size_t i = 0; i < c->n; i++) {
                let_go(&c->nodes[i]);
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
