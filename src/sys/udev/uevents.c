/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/uevents.h"

#include <libudev.h>

#include "common/util.h"
#include "core/disk.h"

/* A hub full of disks may appear at once (multipathd and bolt use the same size). */
#define RECEIVE_BUFFER (16 * 1024 * 1024)

int uevents_open(enum uevents which, struct udev_monitor **ret)
{
        struct udev *udev = udev_new();
        struct udev_monitor *m;
        int r = 0;

        if (!udev)
                return -ENOMEM;
        m = udev_monitor_new_from_netlink(udev, which == UEVENTS_PROCESSED ? "udev" : "kernel");
        udev_unref(udev); /* the monitor keeps it */
        if (!m)
                return -errno;
        if (which == UEVENTS_BOUND)
                r = udev_monitor_filter_add_match_subsystem_devtype(m, "usb", "usb_interface");
        else
                r = udev_monitor_filter_add_match_subsystem_devtype(m, "block", NULL);
        if (r >= 0 && which == UEVENTS_PROCESSED)
                r = udev_monitor_filter_add_match_subsystem_devtype(m, "usb", NULL);
        (void) udev_monitor_set_receive_buffer_size(m, RECEIVE_BUFFER);
        if (r >= 0)
                r = udev_monitor_enable_receiving(m);
        if (r < 0) {
                udev_monitor_unref(m);
                return r;
        }
        *ret = m;
        return 0;
}

void uevents_close(struct udev_monitor *m)
{
        udev_monitor_unref(m);
}

int uevents_fd(struct udev_monitor *m)
{
        return udev_monitor_get_fd(m);
}

static void copy_optional(char *ret, size_t size, const char *s)
{
        (void) copy_string(ret, size, s ? s : "");
}

int uevents_next(struct udev_monitor *m, struct uevent *ret)
{
        struct udev_device *d;

        errno = 0;
        d = udev_monitor_receive_device(m);
        if (!d)
                return errno == 0 || errno == EAGAIN || errno == EINTR ? 0 : -errno;
        *ret = (struct uevent){0};
        copy_optional(ret->action, sizeof(ret->action), udev_device_get_action(d));
        copy_optional(ret->subsystem, sizeof(ret->subsystem), udev_device_get_subsystem(d));
        copy_optional(ret->name, sizeof(ret->name), udev_device_get_sysname(d));
        (void) interface_in_path(udev_device_get_devpath(d) ?: "", ret->interface);
        udev_device_unref(d);
        return 1;
}
