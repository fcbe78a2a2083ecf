/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <libudev.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/util.h"
#include "sys/udev/uevents.h"

/* The monitor is libudev's, and receives nothing from a private network. Its devices are those of
 * this file. */

static char asked[256];

static void note(const char *a, const char *b)
{
        (void) snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%s/%s ", a,
                        b ? b : "*");
}

struct udev_monitor *__real_udev_monitor_new_from_netlink(struct udev *udev, const char *name);
struct udev_monitor *__wrap_udev_monitor_new_from_netlink(struct udev *udev, const char *name);
struct udev_monitor *__wrap_udev_monitor_new_from_netlink(struct udev *udev, const char *name)
{
        note("of", name);
        return __real_udev_monitor_new_from_netlink(udev, name);
}

static int filter_error;

int __real_udev_monitor_filter_add_match_subsystem_devtype(struct udev_monitor *m,
                                                           const char *subsystem,
                                                           const char *devtype);
int __wrap_udev_monitor_filter_add_match_subsystem_devtype(struct udev_monitor *m,
                                                           const char *subsystem,
                                                           const char *devtype);
int __wrap_udev_monitor_filter_add_match_subsystem_devtype(struct udev_monitor *m,
                                                           const char *subsystem,
                                                           const char *devtype)
{
        note(subsystem, devtype);
        return filter_error ? filter_error
                            : __real_udev_monitor_filter_add_match_subsystem_devtype(m, subsystem,
                                                                                     devtype);
}

/* ---- a device ---- */

static struct {
        const char *action, *subsystem, *name, *path;
} told;
static int error;
static bool any;

struct udev_device *__wrap_udev_monitor_receive_device(struct udev_monitor *m);
struct udev_device *__wrap_udev_monitor_receive_device(struct udev_monitor *m)
{
        errno = error;
        return any ? (struct udev_device *) &told : NULL;
}

#define WRAP(function, field)                                                                      \
        const char *__wrap_udev_device_get_##function(struct udev_device *d);                      \
        const char *__wrap_udev_device_get_##function(struct udev_device *d)                       \
        {                                                                                          \
                return told.field;                                                                 \
        }

WRAP(action, action)
WRAP(subsystem, subsystem)
WRAP(sysname, name)
WRAP(devpath, path)

static unsigned freed;

struct udev_device *__wrap_udev_device_unref(struct udev_device *d);
struct udev_device *__wrap_udev_device_unref(struct udev_device *d)
{
        freed++;
        return NULL;
}

static void test_open(void **state)
{
        static const char *const filters[] = {
                [UEVENTS_BOUND] = "of/kernel usb/usb_interface scsi/scsi_host ",
                [UEVENTS_ANNOUNCED] = "of/kernel block/* ",
                [UEVENTS_PROCESSED] = "of/udev block/* usb/* ",
        };

        for (size_t i = 0; i < ELEMENTSOF(filters); i++) {
                struct udev_monitor *m = NULL;

                asked[0] = '\0';
                assert_int_equal(uevents_open((enum uevents) i, &m), 0);
                assert_string_equal(asked, filters[i]);
                assert_int_equal(poll(&(struct pollfd){uevents_fd(m), POLLIN, 0}, 1, 0), 0);
                uevents_close(m);

                filter_error = -ENOMEM;
                m = NULL;
                assert_int_equal(uevents_open((enum uevents) i, &m), -ENOMEM);
                assert_null(m);
                filter_error = 0;
        }
}

static void test_next(void **state)
{
        static const struct uevent nothing = {.action = ""};
        struct uevent e;

        any = true;
        told.action = "bind";
        told.subsystem = "usb";
        told.name = "2-1.4:1.0";
        told.path = "/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1.4/2-1.4:1.0";
        assert_int_equal(uevents_next(NULL, &e), 1);
        assert_string_equal(e.action, "bind");
        assert_string_equal(e.subsystem, "usb");
        assert_string_equal(e.name, "2-1.4:1.0");
        assert_string_equal(e.interface, "2-1.4:1.0");

        memset(&told, 0, sizeof(told));
        told.name = "sda1";
        told.path = "/devices/pci0/usb2/2-1/2-1:1.0/host0/target0:0:0/0:0:0:0/block/sda/sda1";
        assert_int_equal(uevents_next(NULL, &e), 1);
        assert_string_equal(e.interface, "2-1:1.0");
        assert_string_equal(e.action, "");

        /* No path, and one without an interface: names that are too long are not cut to one. */
        memset(&told, 0, sizeof(told));
        assert_int_equal(uevents_next(NULL, &e), 1);
        assert_memory_equal(&e, &nothing, sizeof(e));
        told.path =
                "/devices/virtual/block/loop0/2-1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1:1.0";
        assert_int_equal(uevents_next(NULL, &e), 1);
        assert_string_equal(e.interface, "");
        assert_int_equal(freed, 4);
}

static void test_none(void **state)
{
        static const struct {
                int error, r;
        } table[] = {{0, 0}, {EAGAIN, 0}, {EINTR, 0}, {ENOBUFS, -ENOBUFS}, {ENOMEM, -ENOMEM}};
        struct uevent e;

        any = false;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                error = table[i].error;
                assert_int_equal(uevents_next(NULL, &e), table[i].r);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_open), cmocka_unit_test(test_next),
                                           cmocka_unit_test(test_none)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
