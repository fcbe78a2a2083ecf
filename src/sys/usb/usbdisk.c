/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/usbdisk.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "core/link.h"
#include "sys/io/record.h"
#include "sys/io/sysfs.h"

/* Device descriptor and all configurations; usbcore accepts no configuration above 64 KiB. */
#define DESCRIPTORS_MAX (256 * 1024)
/* Numbers of device nodes that the kernel keeps for each bus. */
#define USB_DEVICES_OF_BUS 128

void usb_disk_done(struct usb_disk *d)
{
        luns_free(d->luns, d->n_luns);
        d->luns = NULL;
        d->n_luns = 0;
}

/* ---- the strings of a device that are kept ---- */

#define STRINGS_PATH(f) path_join(RUN_STRINGS "/", facts_attachment(f, (char[ATTACHMENT_MAX]){}))
static const struct state_field strings_fields[] = {
        STATE_FIELD("VID", VALUE_HEX, facts, vid),
        STATE_FIELD("PID", VALUE_HEX, facts, pid),
        STATE_FIELD("MANUFACTURER", VALUE_TEXT, facts, manufacturer),
        STATE_FIELD("PRODUCT", VALUE_TEXT, facts, product),
        STATE_FIELD("SERIAL", VALUE_TEXT, facts, serial),
};
static const struct state_type strings_type = {strings_fields, ELEMENTSOF(strings_fields),
                                               .whole = true};

bool strings_kept(const struct roots *roots, struct facts *f)
{
        struct facts kept = {};

        if (state_load(roots->run, STRINGS_PATH(f), &strings_type, &kept) <= 0 ||
            kept.vid != f->vid || kept.pid != f->pid)
                return false;
        facts_copy_strings(&kept, f);
        return true;
}

int strings_keep(const struct roots *roots, const struct facts *f)
{
        return state_store(roots->run, STRINGS_PATH(f), &strings_type, f);
}

/* ---- the interface and its device ---- */

static int usb_open(const struct roots *roots, const char *name)
{
        int fd = openat(roots->sys, path_join(SYSFS_USB_DEVICES "/", name),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 && errno == ENOENT)
                return -ENODEV;
        if (fd < 0)
                return -errno;
        return fd;
}

/* Reads mandatory numbers, in hexadecimal and at most `max`. */
static int usb_need_numbers(int dirfd, const char *const *attributes, size_t n, uint64_t max,
                            uint64_t *ret)
{
        for (size_t i = 0; i < n; i++) {
                int r = attr_read_uint(dirfd, attributes[i], 16, ret + i);

                if (r == -ENOENT)
                        return -ENODEV;
                if (r < 0)
                        return r;
                if (ret[i] > max)
                        return -ERANGE;
        }
        return 0;
}

static uint64_t usb_optional_uint(int dirfd, const char *attribute, unsigned base,
                                  uint64_t fallback)
{
        uint64_t v;

        if (attr_read_uint(dirfd, attribute, base, &v) < 0)
                return fallback;
        return v;
}

static int usb_read_descriptors(int usb, struct facts *f)
{
        _cleanup_free_ void *data = malloc(DESCRIPTORS_MAX);
        ssize_t n;

        if (!data)
                return -ENOMEM;
        n = attr_read_binary(usb, "descriptors", data, DESCRIPTORS_MAX);
        if (n == -ENOENT)
                return -ENODEV;
        if (n < 0)
                return (int) n;
        f->caps_error = descriptors_parse(data, (size_t) n, f->configuration, f->interface_number,
                                          &f->caps);
        return 0;
}

static void usb_read_max_speed(int usb, struct facts *f)
{
        char bos[4096]; /* real ones have less than a hundred bytes */
        ssize_t n = attr_read_binary(usb, "bos_descriptors", bos, sizeof(bos));

        f->max_speed_mbps =
                device_max_speed(bos, n > 0 ? (size_t) n : 0, f->usb_version, f->speed_mbps);
}

bool usb_controller(const struct roots *roots, const char *root_hub, char *ret, size_t size)
{
        char target[PATH_MAX], *slash;
        /* ".../0000:00:14.0/usb2" */
        ssize_t n = readlinkat(roots->sys, path_join(SYSFS_USB_DEVICES "/", root_hub), target,
                               sizeof(target) - 1);

        if (n < 0)
                return false;
        target[n] = '\0';
        slash = strrchr(target, '/');
        if (!slash)
                return false;
        *slash = '\0';
        slash = strrchr(target, '/');
        (void) copy_string(ret, size, slash ? slash + 1 : target);
        return true;
}

unsigned usb_speed(const struct roots *roots, const char *device)
{
        uint64_t v;
        int r = attr_read_uint(roots->sys, path_join(SYSFS_USB_DEVICES "/", device, "/speed"), 10,
                               &v);

        if (r < 0 || v > UINT_MAX)
                return 0;
        return (unsigned) v;
}

/* Reads the driver of the controller, which is above the root hub "usbN". */
static void usb_read_controller(const struct roots *roots, struct facts *f)
{
        char name[32], root_hub[16];

        (void) snprintf(root_hub, sizeof(root_hub), "usb%u", f->busnum);
        (void) usb_controller(roots, root_hub, f->controller_device, sizeof(f->controller_device));
        if (link_basename(roots->sys, path_join(SYSFS_USB_DEVICES "/", root_hub, "/../driver"),
                          name, sizeof(name)) <= 0)
                return;
        (void) copy_string(f->controller, sizeof(f->controller), name);
        /* No attribute shows these two limits. The host controller drivers with a limit are known
         * by name. */
        f->no_sg = streq(name, "dwc2") || streq(name, "max3421-hcd");
        f->no_streams =
                f->speed_mbps >= 5000 && (streq(name, "vhci_hcd") || streq(name, "dummy_hcd"));
}

/* A missing attribute counts as read. */
static bool usb_read_string(int usb, const char *attribute, char ret[static USB_STRING_MAX])
{
        ssize_t n = attr_read(usb, attribute, ret, USB_STRING_MAX);

        return n >= 0 || n == -ENOENT;
}

/*
 * The kernel's usb_string_attr() (drivers/usb/core/sysfs.c) takes the lock of the device, by
 * usb_lock_device_interruptible(). An unbind or bind of its interface takes that lock
 * (need_parent_lock of usb_bus_type). So does a reset by the error handler
 * (usb_lock_device_for_reset()). Both keep it as long as the disk hangs. Other attributes take it
 * as well: usb_actconfig_show() (bConfigurationValue, bNumInterfaces, bmAttributes),
 * bMaxPower_show(), configuration_show(), usb3_hardware_lpm_*_show(), and of an interface
 * supports_autosuspend_show(). uasd reads none of these. All others that it reads take no lock; nor
 * does `bos_descriptors`. Returns true if the device has answered all three.
 */
static bool usb_read_strings(int usb, struct facts *f)
{
        bool all = usb_read_string(usb, "manufacturer", f->manufacturer);

        all = usb_read_string(usb, "product", f->product) && all;
        all = usb_read_string(usb, "serial", f->serial) && all;
        serial_normalize(f->serial);
        return all;
}

/*
 * From the number of its node /dev/bus/usb/BBB/DDD, which the kernel assigns once
 * (usb_new_device()). The attribute devnum is 0 in a reset, until the device has its address again
 * (update_devnum() in hub_port_reset()).
 */
int usb_attachment_read(int at, const char *path, struct attachment_id *ret)
{
        _cleanup_close_ int dir = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        unsigned major, minor;
        struct stat st;
        int r;

        if (dir < 0 || fstat(dir, &st) < 0)
                return -errno;
        r = attr_read_devno(dir, "dev", &major, &minor);
        if (r < 0)
                return r;
        *ret = (struct attachment_id){minor / USB_DEVICES_OF_BUS + 1,
                                      minor % USB_DEVICES_OF_BUS + 1, st.st_ino};
        return 0;
}

static int usb_read_ids(int usb, struct facts *f)
{
        static const char *const attributes[] = {"idVendor", "idProduct", "bcdDevice"};
        uint64_t ids[ELEMENTSOF(attributes)];
        int r = usb_need_numbers(usb, attributes, ELEMENTSOF(attributes), UINT16_MAX, ids);

        if (r < 0)
                return r;
        f->vid = (uint16_t) ids[0];
        f->pid = (uint16_t) ids[1];
        f->bcd = (uint16_t) ids[2];
        return 0;
}

/* By its interface, not by its port: there may be another device meanwhile. */
static int usb_read_device(const struct roots *roots, int intf, bool strings, struct facts *f,
                           bool *ret_anew)
{
        _cleanup_close_ int usb = openat(intf, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char version[16], *v = version;
        struct attachment_id id = {};
        int r;

        if (usb < 0 && errno == ENOENT)
                return -ENODEV;
        if (usb < 0)
                return -errno;
        r = usb_attachment_read(usb, ".", &id);
        if (r == -ENOENT)
                return -ENODEV;
        if (r < 0)
                return r;
        f->busnum = id.busnum;
        f->devnum = id.devnum;
        f->inode = id.inode;
        r = usb_read_ids(usb, f);
        if (r < 0)
                return r;
        f->speed_mbps = (unsigned) usb_optional_uint(usb, "speed", 10, 0); /* no disk has "1.5" */
        if (attr_read(usb, "version", version, sizeof(version)) > 0) {
                while (*v == ' ')
                        v++;
                (void) copy_string(f->usb_version, sizeof(f->usb_version), v);
        }
        f->authorized = f->authorized && usb_optional_uint(usb, "authorized", 10, 1) != 0;
        if (strings && !strings_kept(roots, f))
                *ret_anew = usb_read_strings(usb, f);
        usb_read_max_speed(usb, f);
        return usb_read_descriptors(usb, f);
}

static enum driver usb_read_driver(int intf, char *ret_name, size_t size)
{
        if (link_basename(intf, "driver", ret_name, size) <= 0) {
                ret_name[0] = '\0';
                return DRIVER_NONE;
        }
        if (streq(ret_name, DRIVER_NAME_UAS))
                return DRIVER_UAS;
        if (streq(ret_name, DRIVER_NAME_BOT))
                return DRIVER_USB_STORAGE;
        return DRIVER_OTHER;
}

enum driver usb_disk_driver(const struct roots *roots, const char *interface)
{
        _cleanup_close_ int intf = usb_open(roots, interface);
        char name[32];

        if (intf < 0)
                return DRIVER_NONE;
        return usb_read_driver(intf, name, sizeof(name));
}

/* Returns 1 if the interface is a disk for uasd, 0, or -errno. */
static int usb_interface_read(int intf, uint8_t *ret_number)
{
        static const char *const attributes[] = {"bInterfaceClass", "bInterfaceSubClass",
                                                 "bInterfaceProtocol", "bInterfaceNumber"};
        uint64_t v[ELEMENTSOF(attributes)];
        int r = usb_need_numbers(intf, attributes, ELEMENTSOF(attributes), 0xff, v);

        if (r < 0)
                return r;
        *ret_number = (uint8_t) v[3];
        return v[0] == 0x08 && v[1] == 0x06 && (v[2] == 0x50 || v[2] == 0x62);
}

int usb_disk_read(const struct roots *roots, const char *interface, bool strings,
                  struct usb_disk *ret)
{
        struct usb_disk d = {0};
        struct facts *f = &d.facts;
        _cleanup_close_ int intf = -1;
        int r;

        if (!interface_name_valid(interface))
                return -EINVAL;
        intf = usb_open(roots, interface);
        if (intf < 0)
                return intf;
        r = usb_interface_read(intf, &f->interface_number);
        if (r <= 0)
                return r;

        (void) copy_string(f->interface, sizeof(f->interface), interface);
        (void) copy_string(f->port, sizeof(f->port), interface);
        *strchr(f->port, ':') = '\0';
        f->configuration = (uint8_t) strtoul(strchr(interface, ':') + 1, NULL, 10);
        f->authorized = usb_optional_uint(intf, "authorized", 10, 1) != 0;
        f->driver = usb_read_driver(intf, f->driver_name, sizeof(f->driver_name));
        r = usb_read_device(roots, intf, strings, f, &d.strings_anew);
        if (r < 0)
                return r;
        usb_read_controller(roots, f);

        r = luns_read(intf, d.host, &d.luns, &d.n_luns);
        if (r < 0)
                return r;
        *ret = d;
        return 1;
}

int usb_disk_enumerate(const struct roots *roots, char ***ret_interfaces)
{
        _cleanup_strv_ char **names = NULL, **interfaces = NULL;
        int n = dir_list(roots->sys, SYSFS_USB_DEVICES, "", &names);
        size_t n_interfaces = 0;

        if (n < 0 && n != -ENOENT) /* a machine without USB is no error */
                return n;
        for (int i = 0; i < n; i++)
                if (interface_name_valid(names[i]) &&
                    strv_push(&interfaces, &n_interfaces, names[i]) < 0)
                        return -ENOMEM;
        *ret_interfaces = TAKE_PTR(interfaces);
        return (int) n_interfaces;
}

int usb_disk_of_block(const struct roots *roots, const char *block,
                      char ret_interface[static INTERFACE_NAME_MAX])
{
        char path[64], target[PATH_MAX];
        ssize_t n;

        if (strchr(block, '/') || !concat(path, sizeof(path), "class/block/", block))
                return -EINVAL;
        n = readlinkat(roots->sys, path, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        /* .../usb2/2-1/2-1:1.0/host0/target0:0:0/0:0:0:0/block/sda: the interface is the last such
         * component. */
        if (!interface_in_path(target, ret_interface))
                return -ENOENT;
        return 0;
}
