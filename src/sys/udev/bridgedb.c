/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/bridgedb.h"

#include <sys/utsname.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/udev/udevdb.h"

static int get(const void *from, const char *key, char *ret, size_t size)
{
        return udevdb_get(from, key, ret, size);
}

int bridgedb_read(const struct roots *r, const char *port, struct db_entry *ret)
{
        _cleanup_free_ char *record = NULL;
        char id[UDEVDB_ID_MAX];

        if (udevdb_usb_id(r, port, id))
                record = udevdb_read(r, id);
        return db_fill(ret, get, record);
}

void platform_read(const struct roots *r, char ret[static PLATFORM_MAX])
{
        ssize_t n = attr_read_binary(r->sys, SYSFS_COMPATIBLE, ret, PLATFORM_MAX - 1);
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
