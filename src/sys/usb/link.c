/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/link.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "common/names.h"
#include "common/util.h"
#include "core/link.h"
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
        _cleanup_free_ char *record = NULL;

        if (!udevdb_usb_id(r, name, id))
                return;
        record = udevdb_read(r, id);
        (void) udevdb_get(record, "ID_VENDOR", vendor, sizeof(vendor));
        (void) udevdb_get(record, "ID_MODEL", model, sizeof(model));
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

static unsigned read_bcd_usb(const struct roots *r, const char *device)
{
        char path[PATH_MAX], version[16];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/version", device);
        return attr_read(r->sys, path, version, sizeof(version)) < 0 ? 0 : usb_version_bcd(version);
}

struct fastest {
        const struct roots *roots;
        char controller[USB_STRING_MAX];
        unsigned mbps;
};

static int look_at_root_hub(const char *name, void *data)
{
        struct fastest *f = data;
        char controller[USB_STRING_MAX];
        unsigned mbps;

        if (!usb_controller(f->roots, name, controller, sizeof(controller)) || !streq(controller, f->controller))
                return 0;
        mbps = usb_speed(f->roots, name);
        if (mbps > f->mbps)
                f->mbps = mbps;
        return 0;
}

static unsigned read_controller_speed(const struct roots *r, const char *root_hub)
{
        struct fastest f = {.roots = r};

        if (usb_controller(r, root_hub, f.controller, sizeof(f.controller)))
                (void) dir_each_of(r->sys, SYSFS_USB_DEVICES, "usb", look_at_root_hub, &f);
        return f.mbps;
}

static enum link_peer read_peer(const struct roots *r, const char *device)
{
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), SYSFS_USB_DEVICES "/%s/port/peer", device);
        if (faccessat(r->sys, path, F_OK, 0) == 0)
                return LINK_PEER_THERE;
        path[strlen(path) - strlen("/peer")] = '\0';
        return faccessat(r->sys, path, F_OK, 0) == 0 ? LINK_PEER_NONE : LINK_PEER_UNKNOWN;
}

void link_read(const struct roots *r, const struct facts *f, struct link_facts *ret)
{
        char device[INTERFACE_NAME_MAX], hub[INTERFACE_NAME_MAX];
        struct link_facts l = {.speed_mbps = f->speed_mbps, .able = link_able(f)};

        (void) copy_string(device, sizeof(device), f->interface);
        device[strcspn(device, ":")] = '\0';
        while (l.n_steps < ELEMENTSOF(l.steps) && hub_above(device, hub)) {
                struct link_step *s = l.steps + l.n_steps++;

                s->peer = read_peer(r, device);
                (void) copy_string(s->hub, sizeof(s->hub), hub);
                (void) copy_string(device, sizeof(device), hub);
                s->root = !hub_above(device, hub);
                s->hub_bcd_usb = read_bcd_usb(r, s->hub);
        }
        if (l.n_steps > 0 && l.steps[l.n_steps - 1].root)
                l.controller_mbps = read_controller_speed(r, device);
        *ret = l;
}
