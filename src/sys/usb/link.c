/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/link.h"

#include <ctype.h>
#include <fcntl.h>

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
        (void) snprintf(ret, INTERFACE_NAME_MAX, "%s%.*s", *end == '.' ? "" : "usb",
                        (int) (end - name), name);
        return true;
}

static void hub_read_product(const struct roots *roots, const char *name, struct hub *h)
{
        char id[UDEVDB_ID_MAX], vendor[USB_STRING_MAX] = "", model[USB_STRING_MAX] = "";
        _cleanup_free_ char *record = NULL;

        if (!udevdb_usb_id(roots, name, id))
                return;
        record = udevdb_read(roots, id);
        (void) udevdb_get(record, "ID_VENDOR", vendor, sizeof(vendor));
        (void) udevdb_get(record, "ID_MODEL", model, sizeof(model));
        (void) snprintf(h->product, sizeof(h->product), "%s%s%s", vendor,
                        *vendor && *model ? " " : "", model);
        for (char *c = h->product; *c; c++)
                if (*c == '_')
                        *c = ' ';
}

void hub_read(const struct roots *roots, const char *name, struct hub *ret)
{
        char above[INTERFACE_NAME_MAX];
        bool root = !hub_above(name, above);
        struct hub h = {0};

        (void) copy_string(h.name, sizeof(h.name), name);
        if (strchr(name, '/')) {
                *ret = h;
                return;
        }
        h.speed_mbps = usb_speed(roots, name);
        if (root) {
                (void) link_basename(roots->sys,
                                     path_join(SYSFS_USB_DEVICES "/", name, "/../driver"), h.driver,
                                     sizeof(h.driver));
                (void) usb_controller(roots, name, h.product, sizeof(h.product));
        } else {
                (void) copy_string(h.driver, sizeof(h.driver), "hub");
                hub_read_product(roots, name, &h);
        }
        *ret = h;
}

static unsigned hub_read_bcd_usb(const struct roots *roots, const char *device)
{
        char version[16];
        ssize_t n = attr_read(roots->sys, path_join(SYSFS_USB_DEVICES "/", device, "/version"),
                              version, sizeof(version));

        if (n < 0)
                return 0;
        return usb_version_bcd(version);
}

/* The fastest root hub of the controller. */
static unsigned hub_read_controller_speed(const struct roots *roots, const char *root_hub)
{
        char controller[USB_STRING_MAX], its[USB_STRING_MAX];
        _cleanup_strv_ char **names = NULL;
        unsigned fastest = 0;
        int n;

        if (!usb_controller(roots, root_hub, controller, sizeof(controller)))
                return 0;
        n = dir_list(roots->sys, SYSFS_USB_DEVICES, "usb", &names);
        for (int i = 0; i < n; i++) {
                unsigned mbps = usb_speed(roots, names[i]);

                if (mbps > fastest && usb_controller(roots, names[i], its, sizeof(its)) &&
                    streq(its, controller))
                        fastest = mbps;
        }
        return fastest;
}

static enum link_peer link_read_peer(const struct roots *roots, const char *device)
{
        if (faccessat(roots->sys, path_join(SYSFS_USB_DEVICES "/", device, "/port/peer"), F_OK,
                      0) == 0)
                return LINK_PEER_THERE;
        return faccessat(roots->sys, path_join(SYSFS_USB_DEVICES "/", device, "/port"), F_OK, 0) ==
                               0
                       ? LINK_PEER_NONE
                       : LINK_PEER_UNKNOWN;
}

void link_read(const struct roots *roots, const struct facts *f, struct link_facts *ret)
{
        char device[INTERFACE_NAME_MAX], hub[INTERFACE_NAME_MAX];
        struct link_facts l = {.speed_mbps = f->speed_mbps, .able = link_able(f)};

        (void) copy_string(device, sizeof(device), f->interface);
        device[strcspn(device, ":")] = '\0';
        while (l.n_steps < ELEMENTSOF(l.steps) && hub_above(device, hub)) {
                struct link_step *s = l.steps + l.n_steps++;

                s->peer = link_read_peer(roots, device);
                (void) copy_string(s->hub, sizeof(s->hub), hub);
                (void) copy_string(device, sizeof(device), hub);
                s->root = !hub_above(device, hub);
                s->hub_bcd_usb = hub_read_bcd_usb(roots, s->hub);
        }
        if (l.n_steps > 0 && l.steps[l.n_steps - 1].root)
                l.controller_mbps = hub_read_controller_speed(roots, device);
        *ret = l;
}
