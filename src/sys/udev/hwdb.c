/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/hwdb.h"

#include <systemd/sd-hwdb.h>

#include "common/util.h"
#include "sys/udev/udevdb.h"

struct lookup {
        sd_hwdb *hwdb;
        const char *modalias;
};

static int hwdb_get_property(const void *from, const char *key, char *ret, size_t size)
{
        const struct lookup *l = from;
        const char *value;
        int r = sd_hwdb_get(l->hwdb, l->modalias, key, &value);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        if (!copy_string(ret, size, value))
                return -ENAMETOOLONG;
        return 1;
}

int hwdb_read(uint16_t vid, uint16_t pid, const char *product, struct db_entry *ret)
{
        char modalias[USB_STRING_MAX + 32];
        struct lookup l = {.modalias = modalias};
        int r = sd_hwdb_new(&l.hwdb);

        if (r < 0)
                return r;
        (void) snprintf(modalias, sizeof(modalias), "usb:v%04Xp%04X:%s", vid, pid, product);
        r = db_fill(ret, hwdb_get_property, &l);
        (void) sd_hwdb_unref(l.hwdb);
        return r;
}

char *hwdb_names(uint16_t vid, uint16_t pid, char *ret, size_t size)
{
        char modalias[32], vendor[128] = "", model[128] = "";
        struct lookup l = {.modalias = modalias};

        ret[0] = '\0';
        if (sd_hwdb_new(&l.hwdb) < 0)
                return ret;
        (void) snprintf(modalias, sizeof(modalias), "usb:v%04Xp%04X:", vid, pid);
        (void) hwdb_get_property(&l, "ID_VENDOR_FROM_DATABASE", vendor, sizeof(vendor));
        (void) hwdb_get_property(&l, "ID_MODEL_FROM_DATABASE", model, sizeof(model));
        (void) snprintf(ret, size, "%s%s%s", vendor, *vendor && *model ? " " : "", model);
        (void) sd_hwdb_unref(l.hwdb);
        return ret;
}

void facts_complete_hwdb(const struct roots *roots, struct facts *f)
{
        char id[UDEVDB_ID_MAX], platform[PLATFORM_MAX];
        struct db_entry entry;
        usec_t usec;
        struct db_word word;

        if (!udevdb_usb_id(roots, f->port, id) || udevdb_initialized(roots, id, &usec) != 0 ||
            hwdb_read(f->vid, f->pid, f->product, &entry) <= 0)
                return;
        platform_read(roots, platform);
        db_weigh(&entry, f->bcd, platform, &word);
        f->verdict_disputed = word.conflict;
        if (word.verdict != VERDICT_UNKNOWN || entry.ruled) {
                f->verdict = word.verdict;
                f->verdict_by_past = false;
        }
}
