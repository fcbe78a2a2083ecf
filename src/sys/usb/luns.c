/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/usbdisk.h"

#include <fcntl.h>

#include "common/util.h"
#include "sys/io/sysfs.h"

/* A device may disappear during the read: it is left out, without an error. */
static int gone_is_none(int r)
{
        if (r == -ENOENT || r == -ENODEV)
                return 0;
        return r;
}

/* Calls fn for the names in a directory that begin with `prefix`, with its descriptor, until fn
 * returns non-zero. */
static int luns_each(int at, const char *path, const char *prefix,
                     int (*fn)(int dir, const char *name, void *data), void *data)
{
        _cleanup_close_ int dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_strv_ char **names = NULL;
        int n;

        if (dir < 0)
                return gone_is_none(-errno);
        n = dir_list(dir, ".", prefix, &names);
        if (n < 0)
                return gone_is_none(n);
        for (int i = 0; i < n; i++) {
                int r = fn(dir, names[i], data);

                if (r != 0)
                        return r;
        }
        return 0;
}

static int lun_add_partition(int disk, const char *name, void *data)
{
        struct lun *l = data;
        struct block b = {};
        int r;

        if (!copy_string(b.name, sizeof(b.name), name) ||
            faccessat(disk, path_join(name, "/partition"), F_OK, 0) < 0)
                return 0;
        r = attr_read_devno(disk, path_join(name, "/dev"), &b.major, &b.minor);
        if (r < 0)
                return gone_is_none(r);
        if (!list_push(l->parts, l->n_parts, b))
                return -ENOMEM;
        return 0;
}

static int lun_read_block(int dir, const char *name, void *data)
{
        struct lun *l = data;
        uint64_t v;
        int r;

        if (strlen(name) >= BLOCK_NAME_MAX)
                return 0;
        r = attr_read_devno(dir, path_join(name, "/dev"), &l->disk.major, &l->disk.minor);
        if (r < 0)
                return gone_is_none(r);
        (void) copy_string(l->disk.name, sizeof(l->disk.name), name);
        if (attr_read_uint(dir, path_join(name, "/size"), 10, &v) >= 0)
                l->size = v * 512; /* always in sectors of 512 bytes */
        if (attr_read_uint(dir, path_join(name, "/diskseq"), 10, &v) >= 0)
                l->diskseq = v;
        r = luns_each(dir, name, name, lun_add_partition, l);
        if (r < 0)
                return r;
        return 1; /* one disk a LUN */
}

static int lun_read_sg(int dir, const char *name, void *data)
{
        struct lun *l = data;

        (void) copy_string(l->sg, sizeof(l->sg), name);
        return 1;
}

/* Reads the devices of a LUN. l->parts is to be freed in any case. */
static int lun_read_devices(int fd, struct lun *l)
{
        int r = luns_each(fd, "block", "", lun_read_block, l);

        if (r < 0)
                return r;
        /*
         * The link exists from before the driver's probe() until it fails
         * (drivers/base/dd.c:really_probe). It is read after block/: a disk that appears in between
         * counts as being probed.
         */
        l->probing = lun_awaited(l) &&
                     (faccessat(fd, "driver", F_OK, AT_SYMLINK_NOFOLLOW) >= 0 || errno != ENOENT);
        return luns_each(fd, "scsi_generic", "", lun_read_sg, l);
}

struct luns {
        struct lun *list;
        size_t n;
};

static int luns_add(int target, const char *name, void *data)
{
        _cleanup_close_ int fd = -1;
        struct luns *luns = data;
        unsigned numbers[4]; /* host, channel, target, LUN */
        struct lun l = {0};
        uint64_t type;
        int r;

        if (!parse_numbers(name, ':', numbers, ELEMENTSOF(numbers)) ||
            !copy_string(l.scsi, sizeof(l.scsi), name))
                return 0;
        fd = openat(target, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return gone_is_none(-errno);
        l.lun = numbers[3];
        if (attr_read_uint(fd, "type", 10, &type) >= 0)
                l.scsi_type = (unsigned) type;
        r = lun_read_devices(fd, &l);
        if (r < 0) {
                free(l.parts);
                return r;
        }
        if (!list_push(luns->list, luns->n, l)) {
                free(l.parts);
                return -ENOMEM;
        }
        return 0;
}

static int luns_add_target(int host, const char *name, void *data)
{
        return luns_each(host, name, "", luns_add, data);
}

static int luns_find_host(int interface, const char *name, void *data)
{
        unsigned number;

        return parse_numbers(name + strlen("host"), 0, &number, 1) && copy_string(data, 16, name);
}

static int luns_compare(const void *a, const void *b)
{
        const struct lun *x = a, *y = b;

        return (x->lun > y->lun) - (x->lun < y->lun);
}

int luns_read(int interface_fd, char ret_host[static 16], struct lun **ret, size_t *ret_n)
{
        struct luns luns = {};
        char host[16] = "";
        int r = luns_each(interface_fd, ".", "host", luns_find_host, host);

        if (r > 0)
                r = luns_each(interface_fd, host, "target", luns_add_target, &luns);
        if (r < 0) {
                luns_free(luns.list, luns.n);
                return r;
        }
        if (luns.n)
                qsort(luns.list, luns.n, sizeof(*luns.list), luns_compare);
        memcpy(ret_host, host, sizeof(host));
        *ret = luns.list;
        *ret_n = luns.n;
        return 0;
}
