/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/hwdb.h"

#include <systemd/sd-hwdb.h>

#include "common/util.h"
#include "sys/udev/bridgedb.h"
#include "sys/udev/udevdb.h"

struct lookup {
        sd_hwdb *hwdb;
        const char *modalias;
};

static int get(const void *from, const char *key, char *ret, size_t size)
{
        const struct lookup *l = from;
        const char *value;
        int r = sd_hwdb_get(l->hwdb, l->modalias, key, &value);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return copy_string(ret, size, value) ? 1 : -ENAMETOOLONG;
}

void facts_complete_hwdb(const struct roots *r, struct facts *f)
{
        char id[UDEVDB_ID_MAX], modalias[USB_STRING_MAX + 32], platform[PLATFORM_MAX];
        struct lookup l = {.modalias = modalias};
        struct db_entry entry;
        usec_t usec;
        enum verdict v;

        if (!udevdb_usb_id(r, f->port, id) || udevdb_initialized(r, id, &usec) != 0 || sd_hwdb_new(&l.hwdb) < 0)
                return;
        (void) snprintf(modalias, sizeof(modalias), "usb:v%04Xp%04X:%s", f->vid, f->pid, f->product);
        if (db_fill(&entry, get, &l) > 0) {
                platform_read(r, platform);
                v = db_verdict(&entry, f->bcd, platform);
                if (v != VERDICT_UNKNOWN || entry.ruled) {
                        f->verdict = v;
                        f->verdict_by_past = false;
                }
        }
        (void) sd_hwdb_unref(l.hwdb);
}
