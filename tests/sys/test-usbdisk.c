/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Disks and hubs in sysfs: what each attribute means, and which errors stop a reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/usb/link.h"
#include "sys/usb/usbdisk.h"
#include "tree.h"

#define DEVICE "sys/devices/pci0/usb2/2-1/"
#define INTF TREE_DIR "/"
#define SCSI INTF "host0/target0:0:0/0:0:0:0/"
#define SDA SCSI "block/sda/"
#define LINK "->" /* at the beginning of a text: it is a link to the rest */
#define NAME31 "sda0567890123456789012345678901"

struct change {
        const char *path, *text; /* NULL: removed */
};

static void change(struct tree *t, const struct change *c, size_t n)
{
        for (size_t i = 0; i < n && c[i].path; i++)
                if (!c[i].text)
                        tree_unlink(t, c[i].path);
                else if (strncmp(c[i].text, LINK, strlen(LINK)) == 0)
                        tree_link(t, c[i].path, c[i].text + strlen(LINK));
                else
                        tree_write(t, c[i].path, c[i].text);
}

static void make(struct tree *t)
{
        tree_make(t);
        tree_link(t, "sys/bus/usb/devices/usb2", "../../../devices/pci0/usb2");
        tree_link(t, "sys/devices/pci0/driver", "../../bus/pci/drivers/xhci_hcd");
        tree_write(t, INTF "host0/scsi_host/host0/proc_name", "");
        tree_write(t, SCSI "scsi_generic/sg3/dev", "21:3\n");
        tree_write(t, SDA "diskseq", "19\n");
}

static void print_lun(FILE *out, const struct lun *l)
{
        (void) fprintf(out, " [%u %s type %u%s %s %s %u:%u size %llu seq %llu", l->lun, l->scsi,
                       l->scsi_type, l->probing ? " probing" : "", l->sg[0] ? l->sg : "-",
                       l->disk.name[0] ? l->disk.name : "-", l->disk.major, l->disk.minor,
                       (unsigned long long) l->size, (unsigned long long) l->diskseq);
        for (size_t i = 0; i < l->n_parts; i++)
                (void) fprintf(out, " %s %u:%u", l->parts[i].name, l->parts[i].major,
                               l->parts[i].minor);
        (void) fprintf(out, "]");
}

/* Reads the disk. The result, and all facts as a line; empty without a disk. */
static int read_disk(const struct tree *t, const char *interface, char *ret, size_t size)
{
        struct usb_disk d = {0};
        const struct facts *f = &d.facts;
        FILE *out = fmemopen(ret, size, "w");
        int r = usb_disk_read(&t->roots, interface, false, &d);

        assert_non_null(out);
        memset(ret, 0, size);
        if (r > 0) {
                (void) fprintf(
                        out,
                        "at %s bus %u dev %u id %04x:%04x rev %04x speed %u of %u usb %s driver %i %s config %u interface %u "
                        "authorized %i uas %i error %i controller %s %s sg %i streams %i host %s",
                        f->port, f->busnum, f->devnum, f->vid, f->pid, f->bcd, f->speed_mbps,
                        f->max_speed_mbps, f->usb_version[0] ? f->usb_version : "-",
                        (int) f->driver, f->driver_name[0] ? f->driver_name : "-", f->configuration,
                        f->interface_number, f->authorized, f->caps.uas, f->caps_error,
                        f->controller_device[0] ? f->controller_device : "-",
                        f->controller[0] ? f->controller : "-", !f->no_sg, !f->no_streams,
                        d.host[0] ? d.host : "-");
                for (size_t i = 0; i < d.n_luns; i++)
                        print_lun(out, d.luns + i);
                (void) fprintf(out, " .");
                usb_disk_done(&d);
                assert_true(!d.luns && d.n_luns == 0);
        }
        (void) fclose(out);
        return r;
}

#define LUN0 "[0 0:0:0:0 type 0 sg3 sda 8:0 size 1048576 seq 19 sda1 8:1]"

static const struct {
        struct change changes[4];
        int r;
        const char *facts; /* a part of the line */
} rows[] = {
        /* clang-format off */
        {{{0}}, 1, "at 2-1 bus 2 dev 5 id 1209:5a5a rev 0100 speed 480 of 480 usb 2.00 driver 1 usb-storage config 1 interface 0 "
                   "authorized 1 uas 1 error 0 controller pci0 xhci_hcd sg 1 streams 1 host host0 " LUN0 " ."},
        /* no mass storage with SCSI commands on BOT or UAS */
        {{{INTF "bInterfaceClass", "ff\n"}}, 0, ""},
        {{{INTF "bInterfaceSubClass", "05\n"}}, 0, ""},
        {{{INTF "bInterfaceProtocol", "51\n"}}, 0, ""},
        {{{INTF "bInterfaceProtocol", "62\n"}}, 1, " interface 0 "},
        /* numbers that each device has */
        {{{INTF "bInterfaceClass", NULL}}, -ENODEV, ""},
        {{{INTF "bInterfaceSubClass", NULL}}, -ENODEV, ""},
        {{{INTF "bInterfaceProtocol", NULL}}, -ENODEV, ""},
        {{{INTF "bInterfaceNumber", NULL}}, -ENODEV, ""},
        {{{DEVICE "dev", NULL}}, -ENODEV, ""},
        {{{DEVICE "idVendor", NULL}}, -ENODEV, ""},
        {{{DEVICE "idProduct", NULL}}, -ENODEV, ""},
        {{{DEVICE "bcdDevice", NULL}}, -ENODEV, ""},
        {{{DEVICE "descriptors", NULL}}, -ENODEV, ""},
        {{{DEVICE "descriptors", NULL}, {DEVICE "descriptors/it", "is a folder"}}, -EISDIR, ""},
        {{{DEVICE "dev", NULL}, {DEVICE "dev/it", "is a folder"}}, -EISDIR, ""},
        {{{INTF "bInterfaceClass", "x\n"}}, -EINVAL, ""},
        {{{INTF "bInterfaceClass", "0g\n"}}, -EINVAL, ""},
        {{{INTF "bInterfaceSubClass", "0g\n"}}, -EINVAL, ""},
        {{{INTF "bInterfaceProtocol", "0g\n"}}, -EINVAL, ""},
        {{{DEVICE "idVendor", "1g\n"}}, -EINVAL, ""},
        {{{DEVICE "idProduct", "1g\n"}}, -EINVAL, ""},
        {{{DEVICE "bcdDevice", "1g\n"}}, -EINVAL, ""},
        {{{DEVICE "dev", "189:1a\n"}}, -EBADMSG, ""},
        {{{INTF "bInterfaceClass", "108\n"}}, -ERANGE, ""},
        {{{INTF "bInterfaceSubClass", "106\n"}}, -ERANGE, ""},
        {{{INTF "bInterfaceProtocol", "150\n"}}, -ERANGE, ""},
        {{{INTF "bInterfaceNumber", "100\n"}}, -ERANGE, ""},
        {{{INTF "bInterfaceNumber", "ff\n"}}, 1, " interface 255 "},
        {{{INTF "bInterfaceNumber", "10\n"}}, 1, " interface 16 "},
        {{{DEVICE "dev", "189:0\n"}}, 1, " bus 1 dev 1 "},
        {{{DEVICE "dev", "189:126\n"}}, 1, " bus 1 dev 127 "},
        {{{DEVICE "dev", "189:128\n"}}, 1, " bus 2 dev 1 "},
        {{{DEVICE "dev", "189:1048574\n"}}, 1, " bus 8192 dev 127 "},
        /* a reset, in which the device has no address */
        {{{DEVICE "busnum", "2\n"}, {DEVICE "devnum", "0\n"}}, 1, " bus 2 dev 5 "},
        {{{DEVICE "idVendor", "ffff\n"}, {DEVICE "idProduct", "fffe\n"}, {DEVICE "bcdDevice", "fffd\n"}}, 1, " id ffff:fffe rev fffd "},
        {{{DEVICE "idVendor", "10000\n"}}, -ERANGE, ""},
        {{{DEVICE "idProduct", "10000\n"}}, -ERANGE, ""},
        {{{DEVICE "bcdDevice", "10000\n"}}, -ERANGE, ""},
        /* what may be missing, or have any text */
        {{{DEVICE "speed", NULL}}, 1, " speed 0 "},
        {{{DEVICE "speed", "1.5\n"}}, 1, " speed 0 "},
        {{{DEVICE "speed", "20000\n"}}, 1, " speed 20000 of 0 "},
        {{{DEVICE "version", NULL}}, 1, " usb - "},
        {{{DEVICE "version", "\n"}}, 1, " usb - "},
        {{{DEVICE "version", "  3.20\n"}}, 1, " speed 480 of 5000 usb 3.20 "},
        {{{INTF "authorized", "0\n"}}, 1, " authorized 0 "},
        {{{DEVICE "authorized", "0\n"}, {INTF "authorized", "1\n"}}, 1, " authorized 0 "},
        {{{DEVICE "authorized", "1\n"}, {INTF "authorized", "0\n"}}, 1, " authorized 0 "},
        {{{DEVICE "authorized", "1\n"}, {INTF "authorized", "1\n"}}, 1, " authorized 1 "},
        {{{DEVICE "authorized", "a\n"}, {INTF "authorized", "a\n"}}, 1, " authorized 1 "},
        {{{DEVICE "descriptors", ""}}, 1, " uas 0 "},
        {{{DEVICE "bos_descriptors", ""}}, 1, " of 480 "},
        {{{INTF "driver", NULL}}, 1, " driver 0 - "},
        {{{INTF "driver", LINK "../../x/uas"}}, 1, " driver 2 uas "},
        {{{INTF "driver", LINK "ums-realtek"}}, 1, " driver 3 ums-realtek "},
        {{{"sys/devices/pci0/driver", NULL}}, 1, " controller pci0 - sg 1 streams 1 "},
        {{{"sys/bus/usb/devices/usb2", NULL}}, 1, " controller - - sg 1 streams 1 "},
        {{{"sys/bus/usb/devices/usb2", LINK "usb2"}}, 1, " controller - - "},
        {{{"sys/devices/pci0/driver", LINK "x/dwc2"}}, 1, " dwc2 sg 0 streams 1 "},
        {{{"sys/devices/pci0/driver", LINK "x/max3421-hcd"}}, 1, " max3421-hcd sg 0 streams 1 "},
        {{{"sys/devices/pci0/driver", LINK "x/vhci_hcd"}, {DEVICE "speed", "480\n"}}, 1, " vhci_hcd sg 1 streams 1 "},
        {{{"sys/devices/pci0/driver", LINK "x/vhci_hcd"}, {DEVICE "speed", "5000\n"}}, 1, " vhci_hcd sg 1 streams 0 "},
        {{{"sys/devices/pci0/driver", LINK "x/dummy_hcd"}, {DEVICE "speed", "10000\n"}}, 1, " dummy_hcd sg 1 streams 0 "},
        {{{"sys/devices/pci0/driver", LINK "x/xhci_hcd"}, {DEVICE "speed", "5000\n"}}, 1, " xhci_hcd sg 1 streams 1 "},
        /* LUNs: one may be without a node, and any may go during the reading */
        {{{INTF "host12/target12:0:0/12:0:0:0/type", "5\n"}}, 1, " host host0 "}, /* a driver has one host */
        {{{INTF "hostile/target0:0:0/0:0:0:7/type", "0\n"}, {INTF "host/x", ""}}, 1, " host host0 " LUN0 " ."},
        {{{INTF "host0/target0:0:0/0:0:0:10/type", "0\n"}, {INTF "host0/target0:0:0/0:0:0:2/type", "1\n"}}, 1,
         LUN0 " [2 0:0:0:2 type 1 - - 0:0 size 0 seq 0] [10 0:0:0:10 type 0 - - 0:0 size 0 seq 0] ."},
        {{{INTF "host0/target0:0:1/0:0:1:1/type", "0\n"}, {INTF "host0/nottarget0:0:2/0:0:2:2/type", "0\n"}}, 1,
         LUN0 " [1 0:0:1:1 type 0 - - 0:0 size 0 seq 0] ."},
        {{{INTF "host0/target0:0:0/0:0:0/type", "0\n"}, {INTF "host0/target0:0:0/power/type", "0\n"}}, 1, LUN0 " ."},
        {{{INTF "host0/target0:0:0/0000000000:0:000000:00000000001/type", "0\n"}}, 1,
         "[1 0000000000:0:000000:00000000001 type"},
        {{{INTF "host0/target0:0:0/0000000000:0:000000:000000000001/type", "0\n"}}, 1, LUN0 " ."},
        {{{SCSI "type", NULL}}, 1, "[0 0:0:0:0 type 0 sg3"},
        {{{SCSI "scsi_generic/sg3/dev", NULL}, {SDA "size", NULL}, {SDA "diskseq", NULL}}, 1, " size 0 seq 0 "},
        {{{SDA "dev", "8:400\n"}}, 1, " sda 8:400 "},
        {{{SCSI "block/sdb/dev", "8:16\n"}, {SCSI "scsi_generic/sg4/dev", "21:4\n"}}, 1, LUN0 " ."}, /* the first of each */
        {{{SDA "dev", NULL}}, 1, "[0 0:0:0:0 type 0 sg3 - 0:0 size 0 seq 0]"},
        {{{SDA "dev", "8\n"}}, -EBADMSG, ""},
        {{{SDA "sda1/partition", NULL}}, 1, " seq 19]"},
        {{{SDA "sda1/dev", NULL}}, 1, " seq 19]"},
        {{{SDA "sda1/dev", "x:1\n"}}, -EBADMSG, ""},
        {{{SDA "sda2/partition", "2\n"}, {SDA "sda2/dev", "259:7\n"}, {SDA "queue/dev", "8:9\n"}}, 1, " sda1 8:1 sda2 259:7]"},
        {{{SDA NAME31 "/partition", "2\n"}, {SDA NAME31 "/dev", "8:2\n"}}, 1, " " NAME31 " 8:2 sda1 8:1]"},
        {{{SDA NAME31 "x/partition", "2\n"}, {SDA NAME31 "x/dev", "8:2\n"}}, 1, LUN0},
        {{{INTF "host0/target0:0:0/0:0:0:1/block/" NAME31 "/dev", "8:16\n"}}, 1, " type 0 - " NAME31 " 8:16 size 0 seq 0]"},
        {{{INTF "host0/target0:0:0/0:0:0:1/block/" NAME31 "x/dev", "8:16\n"}}, 1, " type 0 - - 0:0 size 0 seq 0]"},
        /* sd_probe() is at work, has failed, or is not for this type */
        {{{INTF "host0/target0:0:0/0:0:0:1/driver", LINK "nowhere"}}, 1, "[1 0:0:0:1 type 0 probing - - "},
        {{{INTF "host0/target0:0:0/0:0:0:1/type", "0\n"}}, 1, "[1 0:0:0:1 type 0 - - "},
        {{{INTF "host0/target0:0:0/0:0:0:1/driver", LINK "nowhere"}, {INTF "host0/target0:0:0/0:0:0:1/type", "13\n"}}, 1,
         "[1 0:0:0:1 type 13 - - "},
        {{{SCSI "driver", LINK "nowhere"}}, 1, LUN0},
        /* clang-format on */
};

static void test_facts(void **state)
{
        char line[1024];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;
                int r;

                make(&t);
                change(&t, rows[i].changes, ELEMENTSOF(rows[i].changes));
                r = read_disk(&t, TREE_INTERFACE, line, sizeof(line));
                if (r != rows[i].r || !strstr(line, rows[i].facts))
                        fail_msg("row %zu, %s: %i, %s", i, rows[i].changes[0].path, r, line);
                assert_int_equal(usb_disk_driver(&t.roots, TREE_INTERFACE),
                                 strstr(line, " driver 0 ")   ? DRIVER_NONE
                                 : strstr(line, " driver 2 ") ? DRIVER_UAS
                                 : strstr(line, " driver 3 ") ? DRIVER_OTHER
                                                              : DRIVER_USB_STORAGE);
                tree_remove(&t);
        }
}

static void test_no_disk(void **state)
{
        char line[1024];
        struct tree t;

        make(&t);
        assert_int_equal(read_disk(&t, "2-1", line, sizeof(line)), -EINVAL);
        assert_int_equal(read_disk(&t, "../2-1:1.0", line, sizeof(line)), -EINVAL);
        assert_int_equal(read_disk(&t, "2-9:1.0", line, sizeof(line)), -ENODEV);
        assert_int_equal(usb_disk_driver(&t.roots, "2-9:1.0"), DRIVER_NONE);
        tree_write(&t, "sys/bus/usb/devices/2-8:1.0", "");
        assert_int_equal(read_disk(&t, "2-8:1.0", line, sizeof(line)), -ENOTDIR);
        /* The device is that of the interface, also if there is none or another one at the port
         * now. */
        tree_link(&t, "sys/bus/usb/devices/2-7:1.2", "../../../devices/pci0/usb2/2-1/2-1:1.0");
        assert_int_equal(read_disk(&t, "2-7:1.2", line, sizeof(line)), 1);
        tree_write(&t, "sys/devices/pci0/usb2/2-7/dev", "189:134\n");
        tree_link(&t, "sys/bus/usb/devices/2-7", "../../../devices/pci0/usb2/2-7");
        assert_int_equal(read_disk(&t, "2-7:1.2", line, sizeof(line)), 1);
        assert_non_null(strstr(line, "at 2-7 "));
        assert_non_null(strstr(line, " config 1 "));
        tree_link(&t, "sys/bus/usb/devices/2-7:2.0", "../../../devices/pci0/usb2/2-1/2-1:1.0");
        assert_int_equal(read_disk(&t, "2-7:2.0", line, sizeof(line)), 1);
        assert_non_null(strstr(line, " config 2 "));
        tree_remove(&t);
}

static void test_enumerate(void **state)
{
        char *before = NULL, **names = NULL;
        struct tree t;

        tree_make(&t);
        tree_link(&t, "sys/bus/usb/devices/1-4.2:1.1", "nowhere");
        tree_link(&t, "sys/bus/usb/devices/usb2", "nowhere");
        assert_int_equal(usb_disk_enumerate(&t.roots, &names), 2);
        assert_string_equal(names[0], "1-4.2:1.1");
        assert_string_equal(names[1], "2-1:1.0");
        assert_null(names[2]);
        strv_free(names);
        tree_remove(&t);

        /* A machine without USB has no disks. */
        tree_make(&t);
        tree_unlink(&t, "sys/bus/usb/devices/2-1");
        tree_unlink(&t, "sys/bus/usb/devices/2-1:1.0");
        names = &before;
        assert_int_equal(usb_disk_enumerate(&t.roots, &names), 0);
        assert_null(names);
        assert_int_equal(unlinkat(t.roots.sys, "bus/usb/devices", AT_REMOVEDIR), 0);
        names = &before;
        assert_int_equal(usb_disk_enumerate(&t.roots, &names), 0);
        assert_null(names);
        tree_write(&t, "sys/bus/usb/devices", "");
        assert_int_equal(usb_disk_enumerate(&t.roots, &names), -ENOTDIR);
        tree_remove(&t);
}

static void test_of_block(void **state)
{
        static const struct {
                const char *block, *link; /* NULL: none is made */
                int r;
                const char *interface;
        } table[] = {
                {"sda", NULL, 0, "2-1:1.0"},
                {"sda1", NULL, 0, "2-1:1.0"},
                {"sdx", NULL, -ENOENT, ""},
                {"vda", "../../devices/pci0/virtio0/block/vda", -ENOENT, ""},
                {"sdb", "../../devices/usb2/2-1/2-1:1.0/2-1.4/2-1.4:1.0/host1/block/sdb", 0,
                 "2-1.4:1.0"},
                {"../class/block/sda", NULL, -EINVAL, ""},
                {"12345678901234567890123456789012345678901234567890123", NULL, -EINVAL, ""},
                {"1234567890123456789012345678901234567890123456789012", NULL, -EINVAL, ""},
                {"123456789012345678901234567890123456789012345678901", NULL, -ENOENT, ""},
        };
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char interface[INTERFACE_NAME_MAX] = "", path[128];
                int r;

                (void) snprintf(path, sizeof(path), "sys/class/block/%s", table[i].block);
                if (table[i].link)
                        tree_link(&t, path, table[i].link);
                r = usb_disk_of_block(&t.roots, table[i].block, interface);
                if (r != table[i].r || !streq(interface, table[i].interface))
                        fail_msg("%s: %i %s", table[i].block, r, interface);
        }
        tree_remove(&t);
}

/* ---- hubs ---- */

static void test_hub(void **state)
{
        static const struct {
                const char *name;
                unsigned mbps;
                const char *driver, *product;
        } table[] = {
                {"usb2", 10000, "xhci_hcd", "pci0"},
                {"2-1", 480, "hub", "A maker A hub"},
                {"2-2", 0, "hub", "Only a hub"},
                {"2-3", 0, "hub", ""},
                {"usb9", 0, "", ""},
                {"2-1/../2-1", 0, "", ""},
        };
        struct tree t;

        make(&t);
        tree_write(&t, "sys/devices/pci0/usb2/speed", "10000\n");
        tree_write(&t, "run/udev/data/c189:132", "E:ID_VENDOR=A_maker\nE:ID_MODEL=A_hub\n");
        tree_write(&t, "run/udev/data/c189:140", "E:ID_MODEL=Only_a_hub\n");
        tree_write(&t, "sys/devices/pci0/usb2/2-2/dev", "189:140\n");
        tree_write(&t, "sys/devices/pci0/usb2/2-2/speed", "99999999999\n");
        tree_link(&t, "sys/bus/usb/devices/2-2", "../../../devices/pci0/usb2/2-2");
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct hub h;

                hub_read(&t.roots, table[i].name, &h);
                if (!streq(h.name, table[i].name) || h.speed_mbps != table[i].mbps ||
                    !streq(h.driver, table[i].driver) || !streq(h.product, table[i].product))
                        fail_msg("%s: %s %u %s %s", table[i].name, h.name, h.speed_mbps, h.driver,
                                 h.product);
        }
        tree_remove(&t);
}

static void test_above(void **state)
{
        static const char *const table[][2] = {
                {"2-1.4.3", "2-1.4"}, {"2-1.4", "2-1"}, {"2-1", "usb2"}, {"12-3", "usb12"},
                {"usb2", NULL},       {"2", NULL},      {"", NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char above[INTERFACE_NAME_MAX] = "";

                assert_int_equal(hub_above(table[i][0], above), table[i][1] != NULL);
                assert_string_equal(above, table[i][1] ? table[i][1] : "");
        }
}

/* A disk behind a hub. The other root hub of the same controller is the fast one. */
static void test_link(void **state)
{
        const struct facts f = {.interface = "3-1.4:1.0",
                                .port = "3-1.4",
                                .speed_mbps = 480,
                                .max_speed_mbps = 5000};
        struct link_facts l;
        struct tree t;

        make(&t);
        tree_link(&t, "sys/bus/usb/devices/usb3", "../../../devices/pci0/usb3");
        tree_link(&t, "sys/bus/usb/devices/usb4", "../../../devices/pci1/usb4");
        tree_write(&t, "sys/devices/pci0/usb2/speed", "10000\n");
        tree_write(&t, "sys/devices/pci0/usb3/speed", "480\n");
        tree_write(&t, "sys/devices/pci0/usb3/version", " 2.00\n");
        tree_write(&t, "sys/devices/pci1/usb4/speed", "20000\n");
        tree_write(&t, "sys/devices/pci0/usb3/3-1/version", " 2.10\n");
        tree_write(&t, "sys/devices/pci0/usb3/3-1/port/it", "");
        tree_write(&t, "sys/devices/pci0/usb3/3-1/3-1.4/port/peer/it", "");
        tree_link(&t, "sys/bus/usb/devices/3-1", "../../../devices/pci0/usb3/3-1");
        tree_link(&t, "sys/bus/usb/devices/3-1.4", "../../../devices/pci0/usb3/3-1/3-1.4");
        link_read(&t.roots, &f, &l);
        assert_int_equal(l.speed_mbps, 480);
        assert_int_equal(l.able, LINK_ABLE);
        assert_int_equal(l.controller_mbps, 10000);
        assert_int_equal(l.n_steps, 2);
        assert_string_equal(l.steps[0].hub, "3-1");
        assert_int_equal(l.steps[0].peer, LINK_PEER_THERE);
        assert_int_equal(l.steps[0].hub_bcd_usb, 0x210);
        assert_false(l.steps[0].root);
        assert_string_equal(l.steps[1].hub, "usb3");
        assert_int_equal(l.steps[1].peer, LINK_PEER_NONE);
        assert_int_equal(l.steps[1].hub_bcd_usb, 0x200);
        assert_true(l.steps[1].root);

        /* unknown: no attributes, no root hub */
        link_read(&t.roots, &(struct facts){.interface = "5-1.1.1.1.1.1.1:1.0"}, &l);
        assert_int_equal(l.n_steps, LINK_STEPS_MAX);
        assert_int_equal(l.steps[0].peer, LINK_PEER_UNKNOWN);
        assert_int_equal(l.steps[0].hub_bcd_usb, 0);
        assert_false(l.steps[LINK_STEPS_MAX - 1].root);
        assert_int_equal(l.controller_mbps, 0);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_facts),     cmocka_unit_test(test_no_disk),
                cmocka_unit_test(test_enumerate), cmocka_unit_test(test_of_block),
                cmocka_unit_test(test_hub),       cmocka_unit_test(test_above),
                cmocka_unit_test(test_link),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
