/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/udevdb.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

/* All of these are root's, so that a record which is larger is not udev's. */
#define RECORD_MAX (1024 * 1024)

char *udevdb_read(const struct roots *roots, const char *id)
{
        _cleanup_close_ int fd = -1;
        char *text = NULL;
        size_t size;

        if (strchr(id, '/'))
                return NULL;
        fd = openat(roots->run, path_join(RUN_UDEV_DATA "/", id),
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || read_whole(fd, RECORD_MAX, &text, &size) < 0)
                return NULL;
        return text;
}

/* Reads the rest of the first line that begins with the prefix. */
static int udevdb_find(const char *record, const char *prefix, char *ret, size_t size)
{
        size_t length = strlen(prefix);

        for (const char *line = record, *end; line && *line; line = *end ? end + 1 : end) {
                size_t n;

                end = strchrnul(line, '\n');
                n = (size_t) (end - line);
                if (n < length || memcmp(line, prefix, length) != 0)
                        continue;
                n -= length;
                if (n >= size)
                        return -ENAMETOOLONG;
                *(char *) mempcpy(ret, line + length, n) = '\0';
                return 1;
        }
        return 0;
}

static int udevdb_find_property(const char *lines, const char *before, const char *key, char *ret,
                                size_t size)
{
        char prefix[64];

        if (!concat(prefix, sizeof(prefix), before, key, "="))
                return -ENAMETOOLONG;
        return udevdb_find(lines, prefix, ret, size);
}

int udevdb_get(const char *record, const char *key, char *ret, size_t size)
{
        return udevdb_find_property(record, "E:", key, ret, size);
}

bool udevdb_has_tag(const char *record, const char *tag)
{
        char line[64], rest[64];

        (void) concat(line, sizeof(line), "G:", tag);
        return udevdb_find(record, line, rest, sizeof(rest)) > 0 && rest[0] == '\0';
}

bool udevdb_usb_id(const struct roots *roots, const char *port, char ret[static UDEVDB_ID_MAX])
{
        char devno[32];

        return attr_read(roots->sys, path_join(SYSFS_USB_DEVICES "/", port, "/dev"), devno,
                         sizeof(devno)) > 0 &&
               concat(ret, UDEVDB_ID_MAX, "c", devno);
}

int udevdb_property(const struct roots *roots, const char *id, const char *key, char *ret,
                    size_t size)
{
        _cleanup_free_ char *record = udevdb_read(roots, id);

        return udevdb_get(record, key, ret, size);
}

int udevdb_initialized(const struct roots *roots, const char *id, usec_t *ret_usec)
{
        _cleanup_free_ char *record = udevdb_read(roots, id);
        unsigned long long usec;
        char text[32];
        int r = udevdb_find(record, "I:", text, sizeof(text));

        if (r <= 0)
                return r;
        r = parse_uint(text, 10, UINT64_MAX, &usec);
        if (r < 0)
                return r;
        *ret_usec = usec;
        return 1;
}

static int bridgedb_get(const void *from, const char *key, char *ret, size_t size)
{
        return udevdb_get(from, key, ret, size);
}

static int bridgedb_get_text(const void *from, const char *key, char *ret, size_t size)
{
        return udevdb_find_property(from, " ", key, ret, size);
}

int bridgedb_read_text(const struct roots *roots, uint16_t vid, uint16_t pid, struct db_entry *ret)
{
        _cleanup_free_ char *text = NULL;
        char match[32], *lines, *end;
        size_t size;
        int r = state_read_text(roots->etc, ".." BRIDGES_TEXT, &text, &size);

        if (r <= 0)
                return r < 0 ? r : -ENOENT;
        (void) snprintf(match, sizeof(match), "\nusb:v%04Xp%04X*\n", vid, pid);
        lines = strstr(text, match);
        end = lines ? strstr(lines, "\n\n") : NULL;
        if (end)
                *end = '\0';
        return db_fill(ret, bridgedb_get_text, lines);
}

/* Appends a line without what stands in brackets: there are the names of sources. */
static void names_add(char *names, size_t size, const char *line, size_t n)
{
        size_t used = strlen(names), depth = 0;

        for (size_t i = 0; i < n && used + 2 < size; i++) {
                if (line[i] == '(')
                        depth++;
                if (depth == 0 && (line[i] != ' ' || (used > 0 && names[used - 1] != ' ')))
                        names[used++] = line[i];
                if (line[i] == ')' && depth > 0)
                        depth--;
        }
        if (used > 0 && names[used - 1] != ' ')
                names[used++] = ' ';
        names[used] = '\0';
}

/* A block has comments, the lines to match, and properties. */
static void bridgedb_take_block(const char *block, bridge_fn *f, void *data)
{
        static const char chip[] = " " PROP_DB_CHIP "=";
        char names[512] = "";
        uint16_t vid, pid;

        for (const char *line = block; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t n = strcspn(line, "\n");

                if (*line == '#')
                        names_add(names, sizeof(names), line + 1, n - 1);
                else if (startswith(line, chip))
                        names_add(names, sizeof(names), line + strlen(chip), n - strlen(chip));
        }
        for (const char *at = block; at; at = strchr(at, '\n')) {
                at += *at == '\n';
                if (sscanf(at, "usb:v%4hXp%4hX*", &vid, &pid) == 2)
                        f(vid, pid, names, data);
        }
}

int bridgedb_each(const struct roots *roots, bridge_fn *f, void *data)
{
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r = state_read_text(roots->etc, ".." BRIDGES_HWDB, &text, &size);

        if (r == 0)
                r = state_read_text(roots->etc, ".." BRIDGES_TEXT, &text, &size);
        if (r <= 0)
                return r < 0 ? r : -ENOENT;
        for (char *block = text, *next; block; block = next) {
                next = strstr(block, "\n\n");
                if (next) {
                        *next = '\0';
                        next += strlen("\n\n");
                }
                bridgedb_take_block(block, f, data);
        }
        return 0;
}

int bridgedb_read(const struct roots *roots, const struct facts *f, struct db_entry *ret)
{
        _cleanup_free_ char *record = NULL;
        char id[UDEVDB_ID_MAX];

        if (udevdb_usb_id(roots, f->port, id))
                record = udevdb_read(roots, id);
        return db_fill(ret, bridgedb_get, record) > 0 ||
               bridgedb_read_text(roots, f->vid, f->pid, ret) > 0;
}

void platform_read(const struct roots *roots, char ret[static PLATFORM_MAX])
{
        ssize_t n = attr_read_binary(roots->sys, SYSFS_COMPATIBLE, ret, PLATFORM_MAX - 1);
        struct utsname machine;

        if (n > 0) {
                /* The attribute is a list of strings, each with its NUL. */
                for (ssize_t i = 0; i < n; i++)
                        if (!ret[i])
                                ret[i] = ' ';
                ret[n - (ret[n - 1] == ' ')] = '\0';
        } else
                (void) copy_string(ret, PLATFORM_MAX, uname(&machine) == 0 ? machine.machine : "");
}

/* Writes the action to all of them. Returns 0 or the first error. */
static int trigger_all(const struct roots *roots, const struct lun *luns, size_t n_luns, bool parts,
                       const char *action)
{
        int first = 0;

        for (size_t i = 0; i < n_luns; i++)
                FOREACH_NODE (b, luns + i) {
                        int r;

                        if (!parts && b != &luns[i].disk)
                                continue;
                        r = attr_write(roots->sys, path_join("class/block/", b->name, "/uevent"),
                                       action);
                        if (first == 0)
                                first = r;
                }
        return first;
}

int trigger_add(const struct roots *roots, const struct lun *luns, size_t n_luns)
{
        return trigger_all(roots, luns, n_luns, true, "add");
}

int trigger_change(const struct roots *roots, const struct lun *luns, size_t n_luns)
{
        /* The kernel wants a UUID before the arguments of an event. No program waits for this one.
         */
        return trigger_all(roots, luns, n_luns, false,
                           "change 00000000-0000-0000-0000-000000000000 UASD=ask");
}
