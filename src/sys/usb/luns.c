/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/luns.h"

#include <fcntl.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

/* A device may disappear during the read: it is left out, without an error. */
static int gone_is_none(int r)
{
        return r == -ENOENT || r == -ENODEV ? 0 : r;
}

struct block_walk {
        int dirfd; /* .../block/sda */
        struct lun *lun;
};

static int add_partition(const char *name, void *data)
{
        struct block_walk *w = data;
        char path[BLOCK_NAME_MAX + 16];
        struct block b = {0};
        int r;

        if (strlen(name) >= BLOCK_NAME_MAX)
                return 0;
        (void) concat(path, sizeof(path), name, "/partition");
        if (faccessat(w->dirfd, path, F_OK, 0) < 0)
                return 0;
        (void) concat(path, sizeof(path), name, "/dev");
        r = attr_read_devno(w->dirfd, path, &b.major, &b.minor);
        if (r < 0)
                return gone_is_none(r);
        (void) copy_string(b.name, sizeof(b.name), name);
        return list_push(w->lun->parts, w->lun->n_parts, b) ? 0 : -ENOMEM;
}

struct lun_walk {
        int scsi; /* directory of the SCSI device */
        struct lun *lun;
};

static int read_block(const char *name, void *data)
{
        struct lun_walk *w = data;
        char path[BLOCK_NAME_MAX + 8];
        _cleanup_close_ int fd = -1;
        uint64_t v;
        int r;

        if (strlen(name) >= BLOCK_NAME_MAX)
                return 0;
        (void) concat(path, sizeof(path), "block/", name);
        fd = openat(w->scsi, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return gone_is_none(-errno);
        r = attr_read_devno(fd, "dev", &w->lun->disk.major, &w->lun->disk.minor);
        if (r < 0)
                return gone_is_none(r);
        (void) copy_string(w->lun->disk.name, sizeof(w->lun->disk.name), name);
        if (attr_read_uint(fd, "size", 10, &v) >= 0)
                w->lun->size = v * 512; /* always in sectors of 512 bytes */
        if (attr_read_uint(fd, "diskseq", 10, &v) >= 0)
                w->lun->diskseq = v;
        r = gone_is_none(dir_each_of(fd, ".", name, add_partition, &(struct block_walk){fd, w->lun}));
        return r < 0 ? r : 1; /* one disk a LUN */
}

static int read_sg(const char *name, void *data)
{
        struct lun *l = data;

        (void) copy_string(l->sg, sizeof(l->sg), name);
        return 1;
}

struct host_walk {
        int host; /* then the target's directory */
        struct lun *luns;
        size_t n;
};

static int add_lun(const char *name, void *data)
{
        struct host_walk *w = data;
        _cleanup_close_ int fd = -1;
        unsigned numbers[4]; /* host, channel, target, LUN */
        struct lun l = {0};
        uint64_t type;
        int r;

        if (!parse_numbers(name, ':', numbers, ELEMENTSOF(numbers)) || !copy_string(l.scsi, sizeof(l.scsi), name))
                return 0;
        fd = openat(w->host, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return gone_is_none(-errno);
        l.lun = numbers[3];
        if (attr_read_uint(fd, "type", 10, &type) >= 0)
                l.scsi_type = (unsigned) type;
        r = gone_is_none(dir_each(fd, "block", read_block, &(struct lun_walk){fd, &l}));
        /*
         * The link exists from before the driver's probe() until it fails (drivers/base/dd.c:really_probe). It is read after
         * block/: a disk that appears in between counts as being probed.
         */
        l.probing = lun_awaited(&l) && (faccessat(fd, "driver", F_OK, AT_SYMLINK_NOFOLLOW) >= 0 || errno != ENOENT);
        if (r >= 0)
                r = gone_is_none(dir_each(fd, "scsi_generic", read_sg, &l));
        if (r >= 0)
                r = list_push(w->luns, w->n, l) ? 0 : -ENOMEM;
        if (r < 0)
                free(l.parts);
        return r;
}

static int walk_target(const char *name, void *data)
{
        struct host_walk *w = data;
        int host = w->host, r;

        w->host = openat(host, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (w->host < 0)
                r = gone_is_none(-errno);
        else {
                r = gone_is_none(dir_each(w->host, ".", add_lun, w));
                (void) close(w->host);
        }
        w->host = host;
        return r;
}

static int find_host(const char *name, void *data)
{
        unsigned number;

        return parse_numbers(name + strlen("host"), 0, &number, 1) && copy_string(data, 16, name);
}

static int by_lun(const void *a, const void *b)
{
        const struct lun *x = a, *y = b;

        return x->lun < y->lun ? -1 : x->lun > y->lun;
}

int luns_read(int interface_fd, char ret_host[static 16], struct lun **ret, size_t *ret_n)
{
        struct host_walk w = {-1, NULL, 0};
        char host[16] = "";
        int r;

        r = gone_is_none(dir_each_of(interface_fd, ".", "host", find_host, host));
        if (r < 0)
                return r;
        if (host[0]) {
                _cleanup_close_ int fd = openat(interface_fd, host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                w.host = fd;
                r = fd < 0 ? gone_is_none(-errno) : gone_is_none(dir_each_of(fd, ".", "target", walk_target, &w));
                if (r < 0) {
                        luns_free(w.luns, w.n);
                        return r;
                }
        }
        if (w.n)
                qsort(w.luns, w.n, sizeof(*w.luns), by_lun);
        memcpy(ret_host, host, sizeof(host));
        *ret = w.luns;
        *ret_n = w.n;
        return 0;
}
