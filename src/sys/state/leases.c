/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/state/leases.h"

#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"

static char *lease_path(const char *interface, char *ret, size_t size)
{
        (void) snprintf(ret, size, RUN_LEASE "/%s", interface);
        return ret;
}

int lease_record(const struct roots *r, const struct facts *f, enum driver restore)
{
        char path[PATH_MAX], text[128];

        (void) snprintf(text, sizeof(text), "BUSNUM=%u\nDEVNUM=%u\nDRIVER=%s\n", f->busnum, f->devnum, driver_to_string(restore));
        return state_write(r->run, lease_path(f->interface, path, sizeof(path)), text, false);
}

struct recorded {
        unsigned busnum, devnum;
        enum driver driver;
};

static int take_line(const char *key, const char *value, void *data)
{
        struct recorded *l = data;
        unsigned long long v;
        int d;

        if (streq(key, "DRIVER") && (d = driver_from_string(value)) >= 0)
                l->driver = (enum driver) d;
        else if (streq(key, "BUSNUM") && parse_uint(value, 10, UINT_MAX, &v) >= 0)
                l->busnum = (unsigned) v;
        else if (streq(key, "DEVNUM") && parse_uint(value, 10, UINT_MAX, &v) >= 0)
                l->devnum = (unsigned) v;
        return 0;
}

int lease_recorded(const struct roots *r, const struct facts *f, enum driver *ret)
{
        struct recorded l = { .driver = DRIVER_NONE };
        char path[PATH_MAX];
        int k = state_read(r->run, lease_path(f->interface, path, sizeof(path)), take_line, &l);

        if (k <= 0)
                return k;
        if (l.busnum != f->busnum || l.devnum != f->devnum || (l.driver != DRIVER_UAS && l.driver != DRIVER_USB_STORAGE))
                return 0;
        *ret = l.driver;
        return 1;
}

int lease_unrecord(const struct roots *r, const char *interface)
{
        char path[PATH_MAX];

        return state_remove(r->run, lease_path(interface, path, sizeof(path)));
}
