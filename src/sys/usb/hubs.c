/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/hubs.h"

#include <ctype.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

bool hub_above(const char *name, char ret[static INTERFACE_NAME_MAX])
{
        const char *end = strrchr(name, '.') ?: strchr(name, '-');

        if (!isdigit((unsigned char) *name) || !end)
                return false;
        (void) snprintf(ret, INTERFACE_NAME_MAX, "%s%.*s", *end == '.' ? "" : "usb", (int) (end - name), name);
        return true;
}

static void read_product(const struct roots *r, const char *name, struct hub *h)
{
        char id[UDEVDB_ID_MAX], vendor[USB_STRING_MAX] = "", model[USB_STRING_MAX] = "";

        if (!udevdb_usb_id(r, name, id))
                return;
        (void) udevdb_property(r, id, "ID_VENDOR", vendor, sizeof(vendor));
        (void) udevdb_property(r, id, "ID_MODEL", model, sizeof(model));
        (void) snprintf(h->product, sizeof(h->product), "%s%s%s", vendor, *vendor && *model ? " " : "", model);
        for (char *c = h->product; *c; c++)
                if (*c == '_')
                        *c = ' ';
}

void hub_read(const struct roots *r, const char *name, struct hub *ret)
{
        char path[INTERFACE_NAME_MAX + 64], above[INTERFACE_NAME_MAX];
        bool root = !hub_above(name, above);
        struct hub h = {0};

        (void) copy_string(h.name, sizeof(h.name), name);
        if (strchr(name, '/')) {
                *ret = h;
                return;
        }
        h.speed_mbps = usb_speed(r, name);
        if (root) {
                (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/../driver", name);
                (void) link_basename(r->sys, path, h.driver, sizeof(h.driver));
                (void) usb_controller(r, name, h.product, sizeof(h.product));
        } else {
                (void) copy_string(h.driver, sizeof(h.driver), "hub");
                read_product(r, name, &h);
        }
        *ret = h;
}
