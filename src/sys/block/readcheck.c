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

static unsigned queue_depth(const struct roots *r, const char *disk)
{
        uint64_t depth;

        if (attr_read_uint(r->sys, path_join("block/", disk, "/device/queue_depth"), 10, &depth) < 0 || depth == 0)
                return 1;
        return depth < DEPTH_MAX ? (unsigned) depth : DEPTH_MAX;
}

/* The reads of a round are spread evenly, and each round reads at other places. */
static uint64_t offset_of(unsigned i, unsigned round, unsigned depth, uint64_t size)
{
        uint64_t step = size / depth;

        return (i * step + (step - READ_SIZE) / ROUNDS * round) / READ_SIZE * READ_SIZE;
}

static int submit_round(io_context_t ctx, int fd, unsigned char *buffers, unsigned depth, unsigned round, uint64_t size)
{
        struct iocb blocks[DEPTH_MAX], *list[DEPTH_MAX];
        int n;

        for (unsigned i = 0; i < depth; i++) {
                unsigned char *buffer = buffers + (size_t) i * READ_SIZE;

                io_prep_pread(&blocks[i], fd, buffer, READ_SIZE, (long long) offset_of(i, round, depth, size));
                blocks[i].data = buffer;
                list[i] = &blocks[i];
        }
        n = io_submit(ctx, depth, list);
        return n < 0 ? n : n < (int) depth ? -EAGAIN : 0;
}

/* ret_bad: a bit for each read that met a bad sector (ENODATA: BLK_STS_MEDIUM in block/blk-core.c). */
static int collect_round(io_context_t ctx, const unsigned char *buffers, unsigned depth, struct awake deadline, uint64_t *ret_bad)
{
        struct io_event events[DEPTH_MAX];

        *ret_bad = 0;
        for (unsigned done = 0; done < depth;) {
                usec_t left = awake_left(deadline);
                struct timespec ts = {(time_t) (left / USEC_PER_SEC), (long) (left % USEC_PER_SEC) * 1000};
                int n = io_getevents(ctx, 1, depth - done, events, &ts);

                if (n == 0 || left == 0)
                        return -ETIMEDOUT;
                if (n < 0 && n != -EINTR)
                        return n;
                for (int i = 0; i < n; i++) {
                        long res = (long) events[i].res;

                        if (res == -ENODATA)
                                *ret_bad |= UINT64_C(1) << ((unsigned char *) events[i].data - buffers) / READ_SIZE;
                        else if (res != READ_SIZE)
                                return res < 0 ? (int) res : -EIO;
                }
                done += n > 0 ? (unsigned) n : 0;
        }
        return 0;
}

/* A bad sector cannot be read without other commands in the queue either. If it can, the bridge fails at depth. */
static int read_alone(int fd, void *buffer, uint64_t offset)
{
        ssize_t n = pread(fd, buffer, READ_SIZE, (off_t) offset);

        if (n < 0)
                return errno == ENODATA ? 0 : -errno;
        return -EIO;
}

static int try_round(io_context_t ctx, int fd, unsigned char *buffers, unsigned depth, unsigned round, uint64_t size,
                     struct awake deadline)
{
        uint64_t bad = 0;
        int k = submit_round(ctx, fd, buffers, depth, round, size);

        if (k >= 0)
                k = collect_round(ctx, buffers, depth, deadline, &bad);
        for (unsigned i = 0; k >= 0 && i < depth; i++)
                if (bad >> i & 1)
                        k = read_alone(fd, buffers, offset_of(i, round, depth, size));
        return k;
}

static int try_disk(const struct roots *r, const struct claimed *node, struct awake deadline)
{
        unsigned depth = queue_depth(r, node->name);
        _cleanup_free_ void *buffers = NULL;
        _cleanup_close_ int fd = -1;
        io_context_t ctx = NULL;
        char path[40];
        uint64_t size;
        int k;

        /* O_DIRECT belongs to the open file. Opened through /proc, since the node's name may be of another device by now. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", node->fd);
        fd = open(path, O_RDONLY | O_DIRECT | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (ioctl(fd, BLKGETSIZE64, &size) < 0)
                return -errno;
        if (size / depth < READ_SIZE)
                return 0; /* too small for a test: an empty slot, a driver CD */
        if (posix_memalign(&buffers, READ_SIZE, (size_t) depth * READ_SIZE) != 0)
                return -ENOMEM;
        k = io_setup((int) depth, &ctx);
        for (unsigned round = 0; k >= 0 && round < ROUNDS; round++)
                k = try_round(ctx, fd, buffers, depth, round, size, deadline);
        /*
         * io_destroy() would wait for a hung device, and a late answer still writes to the buffers. So both stay until exit.
         * After an error other reads may be open, which are waited for. If all are answered, io_destroy() would wait only for
         * RCU, longer than the reads took. The exit does that, too.
         */
        if (k == -ETIMEDOUT)
                (void) TAKE_PTR(buffers);
        else if (k < 0 && ctx)
                (void) io_destroy(ctx);
        return k;
}

int trial_reads(const struct roots *r, const struct claim *c, struct awake deadline)
{
        int k = 0;

        for (size_t i = 0; k >= 0 && i < c->n; i++)
                if (c->nodes[i].whole)
                        k = try_disk(r, &c->nodes[i], deadline);
        return k;
}
