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
static const struct state_type strings_type = {strings_fields, ELEMENTSOF(strings_fields), .whole = true};

bool strings_kept(const struct roots *r, struct facts *f)
{
        struct facts kept = {};

        if (state_load(r->run, STRINGS_PATH(f), &strings_type, &kept) <= 0 || kept.vid != f->vid || kept.pid != f->pid)
                return false;
        facts_copy_strings(&kept, f);
        return true;
}

int strings_keep(const struct roots *r, const struct facts *f)
{
        return state_store(r->run, STRINGS_PATH(f), &strings_type, f);
}

/* ---- the interface and its device ---- */

static int device_open(const struct roots *r, const char *name)
{
        int fd = openat(r->sys, path_join(SYSFS_USB_DEVICES "/", name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? (errno == ENOENT ? -ENODEV : -errno) : fd;
}

/* Reads a mandatory number that is at most `max`. */
static int need_uint(int dirfd, const char *attribute, unsigned base, uint64_t max, uint64_t *ret)
{
        int r = attr_read_uint(dirfd, attribute, base, ret);

        if (r == -ENOENT)
                return -ENODEV;
        return r < 0 ? r : *ret > max ? -ERANGE : 0;
}

static uint64_t optional_uint(int dirfd, const char *attribute, unsigned base, uint64_t fallback)
{
        uint64_t v;

        return attr_read_uint(dirfd, attribute, base, &v) < 0 ? fallback : v;
}

static int read_descriptors(int usb, struct facts *f)
{
        _cleanup_free_ void *data = malloc(DESCRIPTORS_MAX);
        ssize_t n;

        if (!data)
                return -ENOMEM;
        n = attr_read_binary(usb, "descriptors", data, DESCRIPTORS_MAX);
        if (n < 0)
                return n == -ENOENT ? -ENODEV : (int) n;
        f->caps_error = descriptors_parse(data, (size_t) n, f->configuration, f->interface_number, &f->caps);
        return 0;
}

static void read_max_speed(int usb, struct facts *f)
{
        char bos[4096]; /* real ones have less than a hundred bytes */
        ssize_t n = attr_read_binary(usb, "bos_descriptors", bos, sizeof(bos));

        f->max_speed_mbps = device_max_speed(n > 0 ? bos : NULL, n > 0 ? (size_t) n : 0, f->usb_version, f->speed_mbps);
}

bool usb_controller(const struct roots *r, const char *root_hub, char *ret, size_t size)
{
        char target[PATH_MAX], *slash;
        /* ".../0000:00:14.0/usb2" */
        ssize_t n = readlinkat(r->sys, path_join(SYSFS_USB_DEVICES "/", root_hub), target, sizeof(target) - 1);

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

unsigned usb_speed(const struct roots *r, const char *device)
{
        uint64_t v;
        int k = attr_read_uint(r->sys, path_join(SYSFS_USB_DEVICES "/", device, "/speed"), 10, &v);

        return k < 0 || v > UINT_MAX ? 0 : (unsigned) v;
}

/* Reads the driver of the controller, which is above the root hub "usbN". */
static void read_controller(const struct roots *r, struct facts *f)
{
        char name[32], root_hub[16];

        (void) snprintf(root_hub, sizeof(root_hub), "usb%u", f->busnum);
        (void) usb_controller(r, root_hub, f->controller_device, sizeof(f->controller_device));
        if (link_basename(r->sys, path_join(SYSFS_USB_DEVICES "/", root_hub, "/../driver"), name, sizeof(name)) <= 0)
                return;
        (void) copy_string(f->controller, sizeof(f->controller), name);
        /* No attribute shows these two limits. The host controller drivers with a limit are known by name. */
        f->no_sg = streq(name, "dwc2") || streq(name, "max3421-hcd");
        f->no_streams = f->speed_mbps >= 5000 && (streq(name, "vhci_hcd") || streq(name, "dummy_hcd"));
}

/* A missing attribute counts as read. */
static bool read_string(int usb, const char *attribute, char ret[static USB_STRING_MAX])
{
        ssize_t n = attr_read(usb, attribute, ret, USB_STRING_MAX);

        return n >= 0 || n == -ENOENT;
}

/*
 * The kernel's usb_string_attr() (drivers/usb/core/sysfs.c) takes the lock of the device, by usb_lock_device_interruptible(). An
 * unbind or bind of its interface takes that lock (need_parent_lock of usb_bus_type). So does a reset by the error handler
 * (usb_lock_device_for_reset()). Both keep it as long as the disk hangs. Other attributes take it as well: usb_actconfig_show()
 * (bConfigurationValue, bNumInterfaces, bmAttributes), bMaxPower_show(), configuration_show(), usb3_hardware_lpm_*_show(), and of
 * an interface supports_autosuspend_show(). uasd reads none of these. All others that it reads take no lock; nor does
 * `bos_descriptors`. Returns true if the device has answered all three.
 */
static bool read_strings(int usb, struct facts *f)
{
        bool all = read_string(usb, "manufacturer", f->manufacturer);

        all = read_string(usb, "product", f->product) && all;
        return read_string(usb, "serial", f->serial) && all;
}

/*
 * From the number of its node /dev/bus/usb/BBB/DDD, which the kernel assigns once (usb_new_device()). The attribute devnum is 0
 * in a reset, until the device has its address again (update_devnum() in hub_port_reset()).
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
        *ret = (struct attachment_id){minor / USB_DEVICES_OF_BUS + 1, minor % USB_DEVICES_OF_BUS + 1, st.st_ino};
        return 0;
}

/* By its interface, not by its port: there may be another device meanwhile. */
static int read_usb_device(const struct roots *r, int intf, bool strings, struct facts *f, bool *ret_anew)
{
        _cleanup_close_ int usb = openat(intf, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char version[16], *v = version;
        struct attachment_id id = {};
        uint64_t vid, pid, bcd;
        int k;

        if (usb < 0)
                return errno == ENOENT ? -ENODEV : -errno;
        k = usb_attachment_read(usb, ".", &id);
        if (k < 0)
                return k == -ENOENT ? -ENODEV : k;
        f->busnum = id.busnum;
        f->devnum = id.devnum;
        f->inode = id.inode;
        if ((k = need_uint(usb, "idVendor", 16, UINT16_MAX, &vid)) < 0 ||
            (k = need_uint(usb, "idProduct", 16, UINT16_MAX, &pid)) < 0 ||
            (k = need_uint(usb, "bcdDevice", 16, UINT16_MAX, &bcd)) < 0)
                return k;
        f->vid = (uint16_t) vid;
        f->pid = (uint16_t) pid;
        f->bcd = (uint16_t) bcd;
        f->speed_mbps = (unsigned) optional_uint(usb, "speed", 10, 0); /* no disk has "1.5" */
        if (attr_read(usb, "version", version, sizeof(version)) > 0) {
                while (*v == ' ')
                        v++;
                (void) copy_string(f->usb_version, sizeof(f->usb_version), v);
        }
        f->authorized = f->authorized && optional_uint(usb, "authorized", 10, 1) != 0;
        if (strings && !strings_kept(r, f))
                *ret_anew = read_strings(usb, f);
        read_max_speed(usb, f);
        return read_descriptors(usb, f);
}

static enum driver read_driver(int intf, char *ret_name, size_t size)
{
        if (link_basename(intf, "driver", ret_name, size) <= 0) {
                ret_name[0] = '\0';
                return DRIVER_NONE;
        }
        return streq(ret_name, DRIVER_NAME_UAS)   ? DRIVER_UAS
               : streq(ret_name, DRIVER_NAME_BOT) ? DRIVER_USB_STORAGE
                                                  : DRIVER_OTHER;
}

enum driver usb_disk_driver(const struct roots *r, const char *interface)
{
        _cleanup_close_ int intf = device_open(r, interface);
        char name[32];

        return intf < 0 ? DRIVER_NONE : read_driver(intf, name, sizeof(name));
}

int usb_disk_read(const struct roots *r, const char *interface, bool strings, struct usb_disk *ret)
{
        struct usb_disk d = {0};
        struct facts *f = &d.facts;
        _cleanup_close_ int intf = -1;
        uint64_t class, subclass, protocol, number;
        int k;

        if (!interface_name_valid(interface))
                return -EINVAL;
        intf = device_open(r, interface);
        if (intf < 0)
                return intf;
        if ((k = need_uint(intf, "bInterfaceClass", 16, 0xff, &class)) < 0 ||
            (k = need_uint(intf, "bInterfaceSubClass", 16, 0xff, &subclass)) < 0 ||
            (k = need_uint(intf, "bInterfaceProtocol", 16, 0xff, &protocol)) < 0 ||
            (k = need_uint(intf, "bInterfaceNumber", 16, 0xff, &number)) < 0)
                return k;
        if (class != 0x08 || subclass != 0x06 || (protocol != 0x50 && protocol != 0x62))
                return 0;

        (void) copy_string(f->interface, sizeof(f->interface), interface);
        (void) copy_string(f->port, sizeof(f->port), interface);
        *strchr(f->port, ':') = '\0';
        f->configuration = (uint8_t) strtoul(strchr(interface, ':') + 1, NULL, 10);
        f->interface_number = (uint8_t) number;
        f->authorized = optional_uint(intf, "authorized", 10, 1) != 0;
        f->driver = read_driver(intf, f->driver_name, sizeof(f->driver_name));
        k = read_usb_device(r, intf, strings, f, &d.strings_anew);
        if (k < 0)
                return k;
        read_controller(r, f);

        k = luns_read(intf, d.host, &d.luns, &d.n_luns);
        if (k < 0)
                return k;
        *ret = d;
        return 1;
}

int usb_disk_enumerate(const struct roots *r, char ***ret_interfaces)
{
        _cleanup_strv_ char **names = NULL, **interfaces = NULL;
        int n = dir_list(r->sys, SYSFS_USB_DEVICES, "", &names);
        size_t n_interfaces = 0;

        if (n < 0 && n != -ENOENT) /* a machine without USB is no error */
                return n;
        for (int i = 0; i < n; i++)
                if (interface_name_valid(names[i]) && strv_push(&interfaces, &n_interfaces, names[i]) < 0)
                        return -ENOMEM;
        *ret_interfaces = TAKE_PTR(interfaces);
        return (int) n_interfaces;
}

int usb_disk_of_block(const struct roots *r, const char *block, char ret_interface[static INTERFACE_NAME_MAX])
{
        char path[64], target[PATH_MAX];
        ssize_t n;

        if (strchr(block, '/') || !concat(path, sizeof(path), "class/block/", block))
                return -EINVAL;
        n = readlinkat(r->sys, path, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        /* .../usb2/2-1/2-1:1.0/host0/target0:0:0/0:0:0:0/block/sda: the interface is the last such component. */
        return interface_in_path(target, ret_interface) ? 0 : -ENOENT;
}
