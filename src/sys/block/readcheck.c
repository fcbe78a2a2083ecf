/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/claim.h"

#include <fcntl.h>
#include <libaio.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "common/util.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"

#define READ_SIZE 4096
#define ROUNDS 3
#define DEPTH_MAX 64U

static unsigned reads_depth(const struct roots *roots, const char *disk)
{
        uint64_t depth;

        if (attr_read_uint(roots->sys, path_join("block/", disk, "/device/queue_depth"), 10,
                           &depth) < 0 ||
            depth == 0)
                return 1;
        if (depth > DEPTH_MAX)
                return DEPTH_MAX;
        return (unsigned) depth;
}

/* The reads of a round are spread evenly, and each round reads at other places. */
static uint64_t reads_offset(unsigned i, unsigned round, unsigned depth, uint64_t size)
{
        uint64_t step = size / depth;

        return (i * step + (step - READ_SIZE) / ROUNDS * round) / READ_SIZE * READ_SIZE;
}

static int reads_submit_round(io_context_t ctx, int fd, unsigned char *buffers, unsigned depth,
                              unsigned round, uint64_t size)
{
        struct iocb blocks[DEPTH_MAX], *list[DEPTH_MAX];
        int n;

        for (unsigned i = 0; i < depth; i++) {
                unsigned char *buffer = buffers + (size_t) i * READ_SIZE;

                io_prep_pread(&blocks[i], fd, buffer, READ_SIZE,
                              (long long) reads_offset(i, round, depth, size));
                blocks[i].data = buffer;
                list[i] = &blocks[i];
        }
        n = io_submit(ctx, depth, list);
        if (n < 0)
                return n;
        if (n < (int) depth)
                return -EAGAIN;
        return 0;
}

/* Returns 0 if the read was answered well, 1 if it met a bad sector (ENODATA: BLK_STS_MEDIUM in
 * block/blk-core.c), or -errno. */
static int reads_result(const struct io_event *e)
{
        long res = (long) e->res;

        if (res == READ_SIZE)
                return 0;
        if (res == -ENODATA)
                return 1;
        if (res < 0)
                return (int) res;
        return -EIO;
}

/*
 * Waits for all answers, also after an error: the open reads may meet the same place of the disk.
 * ret_bad: a bit for each read that met a bad sector. Returns 0, -ETIMEDOUT, or the first error.
 */
static int reads_collect_round(io_context_t ctx, const unsigned char *buffers, unsigned depth,
                               struct awake deadline, struct unread *u, uint64_t *ret_bad)
{
        struct io_event events[DEPTH_MAX];
        int error = 0;

        *ret_bad = 0;
        for (unsigned done = 0; done < depth;) {
                usec_t left = awake_left(deadline);
                struct timespec ts = {(time_t) (left / USEC_PER_SEC),
                                      (long) (left % USEC_PER_SEC) * 1000};
                int n = io_getevents(ctx, 1, depth - done, events, &ts);

                if (n == 0 || left == 0)
                        return -ETIMEDOUT;
                if (n < 0 && n != -EINTR)
                        return n;
                for (int i = 0; i < n; i++) {
                        size_t which =
                                (size_t) ((unsigned char *) events[i].data - buffers) / READ_SIZE;
                        int r = reads_result(&events[i]);

                        if (r == 0)
                                u->at[which] = UNREAD_DONE;
                        else if (r > 0)
                                *ret_bad |= UINT64_C(1) << which;
                        else if (error == 0)
                                error = r;
                }
                if (n > 0)
                        done += (unsigned) n;
        }
        return error;
}

/* A bad sector cannot be read without other commands in the queue either. If it can, the bridge
 * fails at depth. */
static int reads_alone(int fd, void *buffer, uint64_t offset)
{
        ssize_t n = pread(fd, buffer, READ_SIZE, (off_t) offset);

        if (n >= 0)
                return -EIO;
        if (errno == ENODATA)
                return 0;
        return -errno;
}

static int reads_try_round(io_context_t ctx, int fd, unsigned char *buffers, unsigned depth,
                           unsigned round, uint64_t size, struct awake deadline, struct unread *u)
{
        uint64_t bad = 0;
        int r;

        for (unsigned i = 0; i < depth; i++)
                u->at[i] = reads_offset(i, round, depth, size);
        u->n = depth;
        r = reads_submit_round(ctx, fd, buffers, depth, round, size);
        if (r < 0)
                return r;
        r = reads_collect_round(ctx, buffers, depth, deadline, u, &bad);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < depth; i++) {
                if (!(bad >> i & 1))
                        continue;
                r = reads_alone(fd, buffers, u->at[i]);
                if (r < 0)
                        return r;
                u->at[i] = UNREAD_DONE;
        }
        return 0;
}

static int reads_try_rounds(io_context_t ctx, int fd, unsigned char *buffers, unsigned depth,
                            uint64_t size, struct awake deadline, struct unread *u)
{
        for (unsigned round = 0; round < ROUNDS; round++) {
                int r = reads_try_round(ctx, fd, buffers, depth, round, size, deadline, u);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* O_DIRECT belongs to the open file. Opened through /proc, since the node's name may be of another
 * device by now. */
static int node_open_direct(const struct claimed *node)
{
        char path[40];
        int fd;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", node->fd);
        fd = open(path, O_RDONLY | O_DIRECT | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fd;
}

static int reads_try_disk(const struct roots *roots, const struct claimed *node,
                          struct awake deadline, struct unread *u)
{
        unsigned depth = reads_depth(roots, node->name);
        _cleanup_free_ void *buffers = NULL;
        _cleanup_close_ int fd = -1;
        io_context_t ctx = NULL;
        uint64_t size;
        int r;

        fd = node_open_direct(node);
        if (fd < 0)
                return fd;
        if (ioctl(fd, BLKGETSIZE64, &size) < 0)
                return -errno;
        if (size / depth < READ_SIZE)
                return 0; /* too small for a test: an empty slot, a driver CD */
        if (posix_memalign(&buffers, READ_SIZE, (size_t) depth * READ_SIZE) != 0)
                return -ENOMEM;
        u->lun = node->lun;
        r = io_setup((int) depth, &ctx);
        if (r == -ENOSYS) /* a kernel without CONFIG_AIO: nothing can be read at depth */
                return 0;
        if (r < 0)
                return r;
        r = reads_try_rounds(ctx, fd, buffers, depth, size, deadline, u);
        /*
         * io_destroy() would wait for a hung device, and a late answer still writes to the buffers.
         * So both stay until exit. After an error other reads may be open, which are waited for. If
         * all are answered, io_destroy() would wait only for RCU, longer than the reads took. The
         * exit does that, too.
         */
        if (r == -ETIMEDOUT)
                (void) TAKE_PTR(buffers);
        else if (r < 0)
                (void) io_destroy(ctx);
        return r;
}

int trial_reads(const struct roots *roots, const struct claim *c, struct awake deadline,
                struct unread *u)
{
        for (size_t i = 0; i < c->n; i++) {
                int r;

                if (!c->nodes[i].whole)
                        continue;
                r = reads_try_disk(roots, &c->nodes[i], deadline, u);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* ---- the same places again ---- */

static int claim_open_lun(const struct claim *c, unsigned lun)
{
        for (size_t i = 0; i < c->n; i++)
                if (c->nodes[i].whole && c->nodes[i].lun == lun)
                        return node_open_direct(&c->nodes[i]);
        return -ENODEV;
}

static int reads_again(int fd, void *buffer, uint64_t at)
{
        ssize_t n = TEMP_FAILURE_RETRY(pread(fd, buffer, READ_SIZE, (off_t) at));

        if (n < 0)
                return -errno;
        if (n < READ_SIZE)
                return -EIO;
        return 0;
}

int unread_again(const struct claim *c, struct unread *u)
{
        _cleanup_close_ int fd = claim_open_lun(c, u->lun);
        _cleanup_free_ void *buffer = NULL;
        int error = 0;

        if (fd < 0)
                return fd;
        if (posix_memalign(&buffer, READ_SIZE, READ_SIZE) != 0)
                return -ENOMEM;
        for (unsigned i = 0; i < u->n; i++) {
                int r;

                if (u->at[i] == UNREAD_DONE)
                        continue;
                r = reads_again(fd, buffer, u->at[i]);
                if (r == 0)
                        u->at[i] = UNREAD_DONE;
                else if (error == 0)
                        error = r;
        }
        return error;
}

int unread_control(const struct claim *c, unsigned lun)
{
        struct unread beginning = {.lun = lun, .n = 1};

        return unread_again(c, &beginning);
}
