/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/mounttab.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "common/util.h"

/*
 * Parses the four fields that uasd needs. libmount with its libraries takes longer to start than the udev helper needs for its
 * whole work. The helper reads these tables at every event of a block device.
 */

#define BLANK " \t\n"
/* stdio reads a file of procfs in pieces of 1 KiB. If a table changes between two of them, a line may be missed. */
#define BUFFER 8192
#define DELETED " (deleted)" /* d_path() appends it to the path of a file that has been removed */

static bool is_octal(const char *s)
{
        for (size_t i = 0; i < 3; i++)
                if (s[i] < '0' || s[i] > '7')
                        return false;
        return true;
}

/* mangle() of the kernel writes blanks, the backslash and '#' as "\040". */
static char *unmangle(char *s)
{
        char *to = s;

        if (!s)
                return NULL;
        for (const char *from = s; *from; to++) {
                *to = *from++;
                if (*to == '\\' && is_octal(from)) {
                        *to = (char) strtoul((const char[]){from[0], from[1], from[2], '\0'}, NULL, 8);
                        from += 3;
                }
        }
        *to = '\0';
        return s;
}

static const char *path_or_null(char *field)
{
        return field && field[0] == '/' ? unmangle(field) : NULL;
}

/* Cuts off the text before the next blank. mountinfo has a single blank between two fields. */
static char *take_field(char **rest)
{
        char *field = *rest, *end = strchrnul(field, ' ');

        *rest = *end ? end + 1 : end;
        *end = '\0';
        return field;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool parse_mountinfo(char *text, struct mount_line *ret)
{
        unsigned id, devno[2];
        char *fields[5];

        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                fields[i] = take_field(&text);
        if (!parse_numbers(fields[0], '\0', &id, 1) || !parse_numbers(fields[2], ':', devno, 2) || !*fields[4])
                return false;
        ret->id = (int) id;
        ret->devno = makedev(devno[0], devno[1]);
        ret->target = unmangle(fields[4]);
        text = strstr(text, " - ");
        if (text) {
                text += strlen(" - ");
                (void) take_field(&text); /* the type */
                ret->source = path_or_null(take_field(&text));
        }
        return true;
}

static bool parse_swap(char *text, struct mount_line *ret)
{
        char *save, *path = unmangle(strtok_r(text, BLANK, &save));
        size_t n = path ? strlen(path) : 0, end = strlen(DELETED);

        if (n > end && streq(path + n - end, DELETED))
                path[n - end] = '\0';
        ret->source = path && path[0] == '/' ? path : NULL;
        return ret->source;
}

static bool parse_fstab(char *text, struct mount_line *ret)
{
        char *save, *source = strtok_r(text, BLANK, &save), *target = strtok_r(NULL, BLANK, &save);

        if (!target || source[0] == '#')
                return false;
        ret->source = path_or_null(source);
        ret->target = unmangle(target);
        return true;
}

static bool parse(enum mount_table table, char *text, struct mount_line *ret)
{
        switch (table) {
        case TABLE_MOUNTINFO:
                return parse_mountinfo(text, ret);
        case TABLE_SWAPS:
                return parse_swap(text, ret);
        case TABLE_FSTAB:
                return parse_fstab(text, ret);
        }
        return false;
}

int mount_lines(int dirfd, const char *path, enum mount_table table, int (*fn)(const struct mount_line *line, void *data),
                void *data)
{
        char buffer[BUFFER];
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *text = NULL;
        size_t room = 0;
        int fd, k = 0;

        fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return -errno;
        }
        (void) setvbuf(f, buffer, _IOFBF, sizeof(buffer));
        while (k >= 0 && getline(&text, &room, f) >= 0) {
                struct mount_line line = {};

                if (parse(table, text, &line))
                        k = fn(&line, data);
        }
        return k < 0 ? k : ferror(f) ? -EIO : 0;
}
