/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/select.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "client/client.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/mounts.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

struct selection {
        const struct roots *roots;
        const struct views *views;
        const struct view **found;
        int n;
        unsigned depth;
};

static void selection_add(struct selection *s, const struct view *v)
{
        for (int i = 0; i < s->n; i++)
                if (s->found[i] == v)
                        return;
        s->found[s->n++] = v;
}

static void add_matching(struct selection *s, bool (*fits)(const struct view *v, const char *what),
                         const char *what)
{
        for (size_t i = 0; i < s->views->n; i++)
                if (fits(&s->views->list[i], what))
                        selection_add(s, &s->views->list[i]);
}

static bool fits_interface(const struct view *v, const char *what)
{
        return streq(v->disk.facts.interface, what);
}

static bool fits_port(const struct view *v, const char *what)
{
        return streq(v->disk.facts.port, what);
}

static bool fits_block(const struct view *v, const char *what)
{
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (streq(v->disk.luns[i].disk.name, what))
                        return true;
        return false;
}

/* As uasctl shows it, or as lsusb does. */
static bool fits_serial_by(int (*compare)(const char *a, const char *b), const struct view *v,
                           const char *what)
{
        char serial[USB_STRING_MAX];

        if (!copy_string(serial, sizeof(serial), what))
                return false;
        serial_normalize(serial);
        return *serial && compare(v->disk.facts.serial, serial) == 0;
}

static bool fits_serial(const struct view *v, const char *what)
{
        return fits_serial_by(strcmp, v, what);
}

static bool fits_serial_in_any_case(const struct view *v, const char *what)
{
        return fits_serial_by(strcasecmp, v, what);
}

/* It is being switched: its block device has gone for a moment, and no other disk has that name. */
static bool fits_former_block(const struct view *v, const char *what)
{
        size_t n = strlen(what);

        for (const char *p = v->former; (p = strstr(p, what)); p += n)
                if ((p == v->former || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
                        return true;
        return false;
}

/* A part of "Samsung Portable SSD T7". Names of block devices are none: a disk may have gone, and
 * another one have its name. */
static bool fits_product(const struct view *v, const char *what)
{
        const struct facts *f = &v->disk.facts;

        return what[0] && what[1] && !startswith(what, "sd") &&
               (strcasestr(f->product, what) || strcasestr(f->manufacturer, what));
}

/* "1209:5a5a" or "1209:5a5a:SERIAL", as in lsusb and uasd.conf. */
static bool fits_ids(const struct view *v, const char *what)
{
        const struct facts *f = &v->disk.facts;
        char ids[16];

        (void) snprintf(ids, sizeof(ids), "%04x:%04x", f->vid, f->pid);
        if (strncasecmp(what, ids, strlen(ids)) != 0)
                return false;
        what += strlen(ids);
        return !*what || (*what == ':' && fits_serial(v, what + 1));
}

static int add_below(struct selection *s, const char *block);

static int add_slave(const char *name, void *data)
{
        return add_below(data, name);
}

/* Adds the disks below a block device that is not a USB disk itself. */
static int add_slaves(struct selection *s, const char *block)
{
        int r;

        if (strlen(block) >= BLOCK_NAME_MAX || s->depth >= 8)
                return 0;
        s->depth++;
        r = dir_each(s->roots->sys, path_join("class/block/", block, "/slaves"), add_slave, s);
        s->depth--;
        if (r == -ENOENT)
                return 0;
        return r;
}

/* Adds the disks below a block device, through device mapper, md and so on. */
static int add_below(struct selection *s, const char *block)
{
        char interface[INTERFACE_NAME_MAX];

        if (usb_disk_of_block(s->roots, block, interface) < 0)
                return add_slaves(s, block);
        add_matching(s, fits_interface, interface);
        return 0;
}

/*
 * The device number of a file system. The last mount at a path hides the others. A btrfs has no
 * block device's number, so its source decides. No block device has the number of a tmpfs.
 */
static int device_of_mount(const struct roots *roots, const char *path, dev_t *ret)
{
        _cleanup_(mount_table_close) struct mount_table table;
        int r = mount_table_open(&table, MOUNTS_OF_PROCESS, roots->proc, "self/mountinfo"),
            found = -ENOTBLK;

        if (r < 0)
                return r;
        while ((r = mount_table_next(&table)) > 0) {
                struct stat st;

                if (!streq(table.target, path))
                        continue;
                *ret = table.devno;
                found = 0;
                if (major(table.devno) == 0 && table.source && stat(table.source, &st) >= 0 &&
                    S_ISBLK(st.st_mode))
                        *ret = st.st_rdev;
        }
        if (r < 0)
                return r;
        return found;
}

static int device_of_path(const struct roots *roots, const char *what, dev_t *ret)
{
        _cleanup_free_ char *path = NULL;
        struct stat st;

        path = realpath(what, NULL);
        if (!path || stat(path, &st) < 0)
                return -errno;
        if (!S_ISBLK(st.st_mode))
                return device_of_mount(roots, path, ret);
        *ret = st.st_rdev;
        return 0;
}

static int add_device(struct selection *s, dev_t dev)
{
        char link[64], block[BLOCK_NAME_MAX];

        (void) snprintf(link, sizeof(link), "dev/block/%u:%u", major(dev), minor(dev));
        if (link_basename(s->roots->sys, link, block, sizeof(block)) < 0)
                return -EXDEV;
        return add_below(s, block);
}

static int add_path(struct selection *s, const char *what)
{
        dev_t dev = 0;
        int r = device_of_path(s->roots, what, &dev);

        if (r < 0)
                return r;
        r = add_device(s, dev);
        if (r < 0)
                return r;
        if (s->n == 0)
                return -EXDEV;
        return 0;
}

static bool is_block_name(const char *s)
{
        if (!islower((unsigned char) *s))
                return false;
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && *s != '-' && *s != '_')
                        return false;
        return true;
}

/* A partition, or dm-0. */
static int add_block_name(struct selection *s, const char *what)
{
        int r;

        if (!is_block_name(what))
                return 0;
        r = add_below(s, what);
        if (r < 0 || s->n > 0)
                return r;
        if (faccessat(s->roots->sys, path_join("class/block/", what), F_OK, 0) == 0)
                return -EXDEV;
        return 0;
}

static int add_by_id(struct selection *s, const char *what)
{
        const char *path = path_join("/dev/disk/by-id/", what);
        int r;

        if (access(path, F_OK) < 0)
                return 0;
        r = add_path(s, path);
        if (r == -EXDEV)
                return 0;
        return r;
}

int select_disks(const struct roots *roots, const struct views *v, const char *what,
                 const struct view **found)
{
        /* The kinds of names, in the order of precedence. */
        static const struct {
                bool (*fits)(const struct view *v, const char *what);
                int (*add)(struct selection *s, const char *what); /* or this, on this machine */
        } kinds[] = {
                {.fits = fits_interface},
                {.fits = fits_port},
                {.fits = fits_block},
                {.add = add_block_name},
                {.fits = fits_former_block},
                {.fits = fits_ids},
                {.add = add_by_id},
                {.fits = fits_serial},
                {.fits = fits_serial_in_any_case},
                {.fits = fits_product},
        };
        struct selection s = {.roots = roots, .views = v, .found = found};
        int r;

        if (!*what)
                return 0;
        if (strchr(what, '/')) {
                r = add_path(&s, what);
                if (r == -ENOENT && startswith(what, "/dev/"))
                        add_matching(&s, fits_former_block, what + strlen("/dev/"));
                if (r == -ENOENT && s.n == 0) /* a serial number may have a slash */
                        add_matching(&s, fits_ids, what);
                if (r == -ENOENT && s.n == 0)
                        add_matching(&s, fits_serial, what);
                if (r == -ENOENT && s.n == 0)
                        add_matching(&s, fits_serial_in_any_case, what);
                if (r < 0 && s.n == 0)
                        return r;
                return s.n;
        }
        for (size_t i = 0; i < ELEMENTSOF(kinds) && s.n == 0; i++) {
                if (kinds[i].fits) {
                        add_matching(&s, kinds[i].fits, what);
                        continue;
                }
                r = kinds[i].add(&s, what);
                if (r < 0)
                        return r;
        }
        return s.n;
}
