/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mentions.h"

#include <fcntl.h>

#include "core/disk-words.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "sys/io/sysfs.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"
#include "sys/users/mounts.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

#define CRYPTTAB_MAX ((size_t) 1024 * 1024)

struct mention_search {
        const struct roots *roots;
        const char *interface;
        struct usb_disk
                *disk; /* read when the first name needs it: most files have only names that last */
        bool asked, readable;
        json_object *found;
};

static bool read_once(struct mention_search *s)
{
        if (!s->asked)
                s->readable = usb_disk_read(s->roots, s->interface, true, s->disk) > 0;
        s->asked = true;
        return s->readable;
}

/* "/dev/sda1", or an existing link. */
static const struct block *mention_resolve(const struct mention_search *s, const char *name)
{
        const char *below = name + strlen("/dev/");
        char target[256];

        if (link_basename(s->roots->dev, below, target, sizeof(target)) > 0)
                return luns_find(s->disk->luns, s->disk->n_luns, target);
        if (strchr(below, '/'))
                return NULL;
        return luns_find(s->disk->luns, s->disk->n_luns, below);
}

/* A link that only the other driver makes. It belongs to this disk if it contains the serial
 * number. */
static bool has_serial(const struct mention_search *s, const char *name)
{
        const char *serial = s->disk->facts.serial;

        return strlen(serial) >= 6 && strstr(name, serial);
}

/* The result of blkid, which is the same under both drivers; "": no result. b: NULL: the disk has
 * no such device now. */
static char *lasting_name(const struct roots *roots, const struct block *b, char *ret, size_t size)
{
        static const struct {
                const char *key, *prefix;
        } names[] = {{"ID_FS_UUID_ENC", "UUID="}, {"ID_PART_ENTRY_UUID", "PARTUUID="}};
        char id[UDEVDB_ID_MAX], value[128];

        *ret = '\0';
        if (b)
                (void) snprintf(id, sizeof(id), "b%u:%u", b->major, b->minor);
        for (size_t i = 0; b && !*ret && i < ELEMENTSOF(names); i++)
                if (udevdb_property(roots, id, names[i].key, value, sizeof(value)) > 0)
                        (void) snprintf(ret, size, "%s%s", names[i].prefix, value);
        return ret;
}

static void look_at(struct mention_search *s, const char *file, const char *where, const char *name)
{
        enum devname kind = devname_of(name);
        const struct block *b;
        char instead[160];

        if (kind == DEVNAME_LASTS || !read_once(s))
                return;
        b = mention_resolve(s, name);
        if (b || (kind == DEVNAME_DRIVER && has_serial(s, name)))
                append(s->found, json_name(file, where, name, kind,
                                           lasting_name(s->roots, b, instead, sizeof(instead))));
}

static void look_at_fstab(struct mention_search *s)
{
        _cleanup_(mount_table_close) struct mount_table fstab;

        if (mount_table_open(&fstab, MOUNTS_FSTAB, s->roots->etc, "fstab") < 0)
                return;
        while (mount_table_next(&fstab) > 0)
                if (fstab.source)
                        look_at(s, "/etc/fstab", fstab.target, fstab.source);
}

static void look_at_crypttab(struct mention_search *s)
{
        _cleanup_close_ int fd = openat(s->roots->etc, "crypttab", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        char *rest = NULL, *line;
        size_t n;

        if (fd >= 0 && read_whole(fd, CRYPTTAB_MAX, &text, &n) >= 0)
                rest = text;
        while ((line = strsep(&rest, "\n"))) {
                char *state = NULL, *mapping = strtok_r(line, " \t", &state),
                     *name = strtok_r(NULL, " \t", &state);

                if (mapping && *mapping != '#' && name)
                        look_at(s, "/etc/crypttab", mapping, name);
        }
}

json_object *mentions_read(const struct roots *roots, const char *interface)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {};
        struct mention_search s = {
                .roots = roots, .interface = interface, .disk = &d, .found = json_list()};

        look_at_fstab(&s);
        look_at_crypttab(&s);
        return s.found;
}

void mentions_print(json_object *names)
{
        for (size_t i = 0; i < json_object_array_length(names); i++) {
                json_object *one = json_object_array_get_idx(names, i);
                const char *where = member(one, "where"), *instead = member(one, "instead");
                const char *key = i == 0 ? N_("Names") : "", *comma = where ? ", " : "";
                const char *file = member(one, "file"), *name = member(one, "name"),
                           *why = _(member(one, "why"));

                if (instead)
                        output_format(key, "", _("%s%s%s: %s %s. Better: %s"), file, comma,
                                      where ?: "", name, why, instead);
                else
                        output_format(key, "", "%s%s%s: %s %s.", file, comma, where ?: "", name,
                                      why);
        }
}
