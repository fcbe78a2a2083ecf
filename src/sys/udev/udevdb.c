/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/udevdb.h"

#include <ctype.h>
#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"

static FILE *udevdb_open(const struct roots *r, const char *id)
{
        char path[64];
        int fd;

        if (strchr(id, '/') || (size_t) snprintf(path, sizeof(path), RUN_UDEV_DATA "/%s", id) >= sizeof(path))
                return NULL;
        fd = openat(r->run, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? NULL : fdopen(fd, "re");
}

/* Reads the rest of the first line that begins with the prefix. */
static int udevdb_find(const struct roots *r, const char *id, const char *prefix, char *ret, size_t size)
{
        _cleanup_fclose_ FILE *f = udevdb_open(r, id);
        _cleanup_free_ char *line = NULL;
        size_t room = 0, length = strlen(prefix);
        ssize_t n;

        if (!f)
                return 0;
        while ((n = getline(&line, &room, f)) >= 0) {
                if (n > 0 && line[n - 1] == '\n')
                        line[n - 1] = '\0';
                if (strncmp(line, prefix, length) == 0)
                        return copy_string(ret, size, line + length) ? 1 : -ENAMETOOLONG;
        }
        return 0;
}

bool udevdb_usb_id(const struct roots *r, const char *port, char ret[static UDEVDB_ID_MAX])
{
        char path[128], devno[32];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/dev", port);
        if (attr_read(r->sys, path, devno, sizeof(devno)) <= 0)
                return false;
        (void) snprintf(ret, UDEVDB_ID_MAX, "c%s", devno);
        return true;
}

int udevdb_property(const struct roots *r, const char *id, const char *key, char *ret, size_t size)
{
        char prefix[64];

        if ((size_t) snprintf(prefix, sizeof(prefix), "E:%s=", key) >= sizeof(prefix))
                return -ENAMETOOLONG;
        return udevdb_find(r, id, prefix, ret, size);
}

int udevdb_initialized(const struct roots *r, const char *id, usec_t *ret_usec)
{
        unsigned long long usec;
        char text[32];
        int k = udevdb_find(r, id, "I:", text, sizeof(text));

        if (k <= 0)
                return k;
        k = parse_uint(text, 10, UINT64_MAX, &usec);
        if (k < 0)
                return k;
        *ret_usec = usec;
        return 1;
}

bool udevdb_tagged(const struct roots *r, const char *id, const char *tag)
{
        char line[64], rest[64];

        (void) snprintf(line, sizeof(line), "G:%s", tag);
        return udevdb_find(r, id, line, rest, sizeof(rest)) > 0 && rest[0] == '\0';
}

static unsigned hex_digit(char c)
{
        return (unsigned) (isdigit((unsigned char) c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

void udevdb_decode(char *s)
{
        char *out = s;

        while (*s) {
                /* Exactly two digits: a truncated value must not be read past its end. And a string cannot contain NUL. */
                bool escape = s[0] == '\\' && s[1] == 'x' && isxdigit((unsigned char) s[2]) && isxdigit((unsigned char) s[3]);
                unsigned c = escape ? hex_digit(s[2]) << 4 | hex_digit(s[3]) : 0;

                if (c) {
                        *out++ = (char) c;
                        s += 4;
                } else
                        *out++ = *s++;
        }
        *out = '\0';
}
