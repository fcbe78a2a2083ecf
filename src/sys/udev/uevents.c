/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/udev/uevents.h"

#include <libudev.h>

#include "common/util.h"
#include "core/disk.h"

/* A hub full of disks may appear at once (multipathd and bolt use the same size). */
#define RECEIVE_BUFFER (16 * 1024 * 1024)

static void uevents_closep(struct udev_monitor **m)
{
        udev_monitor_unref(*m);
}

static int uevents_filter(struct udev_monitor *m, enum uevents which)
{
        int r;

        if (which == UEVENTS_BOUND) {
                r = udev_monitor_filter_add_match_subsystem_devtype(m, "usb", "usb_interface");
                if (r < 0)
                        return r;
                return udev_monitor_filter_add_match_subsystem_devtype(m, "scsi", "scsi_host");
        }
        r = udev_monitor_filter_add_match_subsystem_devtype(m, "block", NULL);
        if (r < 0)
                return r;
        if (which == UEVENTS_PROCESSED)
                return udev_monitor_filter_add_match_subsystem_devtype(m, "usb", NULL);
        return 0;
}

int uevents_open(enum uevents which, struct udev_monitor **ret)
{
        _cleanup_(uevents_closep) struct udev_monitor *m = NULL;
        struct udev *udev = udev_new();
        int r;

        if (!udev)
                return -ENOMEM;
        m = udev_monitor_new_from_netlink(udev, which == UEVENTS_PROCESSED ? "udev" : "kernel");
        udev_unref(udev); /* the monitor keeps it */
        if (!m)
                return -errno;
        r = uevents_filter(m, which);
        if (r < 0)
                return r;
        (void) udev_monitor_set_receive_buffer_size(m, RECEIVE_BUFFER);
        r = udev_monitor_enable_receiving(m);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(m);
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

static void uevent_copy(char *ret, size_t size, const char *s)
{
        (void) copy_string(ret, size, s ?: "");
}

int uevents_next(struct udev_monitor *m, struct uevent *ret)
{
        struct udev_device *d;

        errno = 0;
        d = udev_monitor_receive_device(m);
        if (!d && (errno == 0 || errno == EAGAIN || errno == EINTR))
                return 0;
        if (!d)
                return -errno;
        *ret = (struct uevent){0};
        uevent_copy(ret->action, sizeof(ret->action), udev_device_get_action(d));
        uevent_copy(ret->subsystem, sizeof(ret->subsystem), udev_device_get_subsystem(d));
        uevent_copy(ret->name, sizeof(ret->name), udev_device_get_sysname(d));
        (void) interface_in_path(udev_device_get_devpath(d) ?: "", ret->interface);
        udev_device_unref(d);
        return 1;
}
