/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This file depends on its asserts. */
#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/util.h"
#include "sys/state/attachment.h"
#include "tree.h"

/* High speed, one interface: BOT, and UAS with its four pipes. */
static const unsigned char descriptors[] = {
        18,   1,    0x00, 0x02, 0,    0,  0,    64,   0x09, 0x12, 0x5a, 0x5a, 0x00, 0x01, 1,
        2,    3,    1,    9,    2,    85, 0,    1,    1,    0,    0x80, 50,   9,    4,    0,
        0,    2,    0x08, 0x06, 0x50, 0,  7,    5,    0x81, 2,    0x00, 0x02, 0,    7,    5,
        0x02, 2,    0x00, 0x02, 0,    9,  4,    0,    1,    4,    0x08, 0x06, 0x62, 0,    7,
        5,    0x04, 2,    0x00, 0x02, 0,  4,    0x24, 1,    0,    7,    5,    0x83, 2,    0x00,
        0x02, 0,    4,    0x24, 2,    0,  7,    5,    0x81, 2,    0x00, 0x02, 0,    4,    0x24,
        3,    0,    7,    5,    0x02, 2,  0x00, 0x02, 0,    4,    0x24, 4,    0,
};

static void full(const struct tree *t, const char *path, char *ret, size_t size)
{
        int n = snprintf(ret, size, "%s/%s", t->path, path);
        char *name = strrchr(ret, '/');

        assert(n > 0 && (size_t) n < size);
        *name = '\0';
        n = access(ret, F_OK);
        *name = '/';
        if (n >= 0)
                return;
        for (char *slash = ret + strlen(t->path); (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                assert(mkdir(ret, 0755) >= 0 || errno == EEXIST);
                *slash = '/';
        }
}

static void write_bytes(struct tree *t, const char *path, const void *data, size_t size)
{
        char name[512];
        int fd;

        full(t, path, name, sizeof(name));
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert(fd >= 0);
        assert(write(fd, data, size) == (ssize_t) size);
        (void) close(fd);
}

void tree_write(struct tree *t, const char *path, const char *text)
{
        write_bytes(t, path, text, strlen(text));
}

void tree_unlink(struct tree *t, const char *path)
{
        char name[512];

        full(t, path, name, sizeof(name));
        (void) unlink(name);
}

void tree_link(struct tree *t, const char *path, const char *target)
{
        char name[512];

        tree_unlink(t, path);
        full(t, path, name, sizeof(name));
        assert(symlink(target, name) >= 0);
}

bool tree_exists(struct tree *t, const char *path)
{
        char name[512];

        full(t, path, name, sizeof(name));
        return access(name, F_OK) >= 0;
}

char *tree_read(struct tree *t, const char *path)
{
        static char text[1024];
        char name[512];
        ssize_t n;
        int fd;

        full(t, path, name, sizeof(name));
        fd = open(name, O_RDONLY);
        if (fd < 0)
                return NULL;
        n = read(fd, text, sizeof(text) - 1);
        (void) close(fd);
        assert(n >= 0);
        text[n] = '\0';
        return text;
}

static void add_block(struct tree *t, const char *dir, const char *name, unsigned minor)
{
        char path[256], text[300];

        (void) snprintf(path, sizeof(path), "%s/dev", dir);
        (void) snprintf(text, sizeof(text), "8:%u\n", minor);
        tree_write(t, path, text);
        (void) snprintf(path, sizeof(path), "%s/uevent", dir);
        tree_write(t, path, "");
        (void) snprintf(path, sizeof(path), "%s/size", dir);
        tree_write(t, path, "2048\n");
        (void) snprintf(path, sizeof(path), "sys/class/block/%s", name);
        (void) snprintf(text, sizeof(text), "../../%s", dir + strlen("sys/"));
        tree_link(t, path, text);
}

void tree_add_lun(struct tree *t, unsigned lun, const char *name, unsigned minor)
{
        char scsi[160], dir[200], part[240], path[256];

        (void) snprintf(scsi, sizeof(scsi), TREE_DIR "/host0/target0:0:0/0:0:0:%u", lun);
        (void) snprintf(path, sizeof(path), "%s/type", scsi);
        tree_write(t, path, "0\n");
        (void) snprintf(dir, sizeof(dir), "%s/block/%s", scsi, name);
        add_block(t, dir, name, minor);
        (void) snprintf(part, sizeof(part), "%s/%s1", dir, name);
        (void) snprintf(path, sizeof(path), "%s/partition", part);
        tree_write(t, path, "1\n");
        (void) snprintf(path, sizeof(path), "%s1", name);
        add_block(t, part, path, minor + 1);
}

void tree_make(struct tree *t)
{
        static const struct {
                const char *path, *text;
        } files[] = {
                {"sys/devices/pci0/usb2/2-1/dev", "189:132\n"},
                {"sys/devices/pci0/usb2/2-1/idVendor", "1209\n"},
                {"sys/devices/pci0/usb2/2-1/idProduct", "5a5a\n"},
                {"sys/devices/pci0/usb2/2-1/bcdDevice", "0100\n"},
                {"sys/devices/pci0/usb2/2-1/speed", "480\n"},
                {"sys/devices/pci0/usb2/2-1/version", " 2.00\n"},
                {TREE_DIR "/bInterfaceClass", "08\n"},
                {TREE_DIR "/bInterfaceSubClass", "06\n"},
                {TREE_DIR "/bInterfaceProtocol", "50\n"},
                {TREE_DIR "/bInterfaceNumber", "00\n"},
                {TREE_DIR "/bAlternateSetting", " 0\n"},
                {"sys/module/usb_storage/parameters/quirks", "\n"},
                {"sys/module/uas/initstate", "live\n"},
                {"sys/bus/usb/drivers/uas/bind", ""},
                {"sys/bus/usb/drivers/usb-storage/bind", ""},
                {"proc/1/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n"},
                {"proc/swaps", "Filename Type Size Used Priority\n"},
                {"proc/cmdline", "root=/dev/vda1 quiet\n"},
                {"dev/null", ""},
                {"run/udev/data/c189:132",
                 "I:1\nE:ID_SERIAL_SHORT=SN1\nE:ID_MODEL_ENC=Fast\\x20Disk\n"},
                {"run/systemd/generator/uasd-release@.timer.d/50-hold.conf",
                 "[Timer]\nOnActiveSec=\nOnActiveSec=20000ms\nX-DeviceTimeoutSec=90000ms\n"},
                {"etc/fstab", ""},
                {"usr/lib/os-release", ""},
                {"var/log/lastlog", ""},
        };

        strcpy(t->path, access("/dev/shm", W_OK) >= 0 ? "/dev/shm/uasd-test-hold-XXXXXX"
                                                      : "/tmp/uasd-test-hold-XXXXXX");
        assert(mkdtemp(t->path));
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                tree_write(t, files[i].path, files[i].text);
        write_bytes(t, "sys/devices/pci0/usb2/2-1/descriptors", descriptors, sizeof(descriptors));
        tree_link(t, "sys/bus/usb/devices/2-1", "../../../devices/pci0/usb2/2-1");
        tree_link(t, "sys/bus/usb/devices/2-1:1.0", "../../../devices/pci0/usb2/2-1/2-1:1.0");
        tree_link(t, TREE_DIR "/driver", "../../../../../bus/usb/drivers/usb-storage");
        tree_link(t, "run/systemd/generator/uasd-hold", "uasd-release@.timer.d/50-hold.conf");
        tree_add_lun(t, 0, "sda", 0);
        assert(roots_open(&t->roots, t->path) >= 0);
}

void tree_boot_kernel(struct tree *t, const char *release)
{
        tree_write(t, "proc/sys/kernel/osrelease", path_join(release, "\n"));
        roots_close(&t->roots);
        assert(roots_open(&t->roots, t->path) >= 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

void tree_remove(struct tree *t)
{
        roots_close(&t->roots);
        (void) nftw(t->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const struct facts *tree_facts(struct tree *t)
{
        static struct facts f = {.interface = TREE_INTERFACE, .port = "2-1"};
        struct attachment_id id;

        if (attachment_now(&t->roots, TREE_INTERFACE, &id) < 0)
                abort();
        f.busnum = id.busnum;
        f.devnum = id.devnum;
        f.inode = id.inode;
        return &f;
}

const char *tree_attachment(struct tree *t, const char *dir)
{
        static char path[128];
        char name[ATTACHMENT_MAX];

        (void) snprintf(path, sizeof(path), "run/uasd/%s/%s", dir,
                        facts_attachment(tree_facts(t), name));
        return path;
}

void tree_uas_alone(struct tree *t)
{
        enum {
                CONFIG = 18,
                FIRST = CONFIG + 9,
                SIZE = 9 + 7 + 7
        }; /* offset of both; size of the alternate setting for BOT */
        unsigned char alone[sizeof(descriptors) - SIZE];

        memcpy(alone, descriptors, FIRST);
        memcpy(alone + FIRST, descriptors + FIRST + SIZE, sizeof(alone) - FIRST);
        alone[CONFIG + 2] = sizeof(alone) - CONFIG; /* wTotalLength */
        alone[FIRST + 3] = 0;                       /* bAlternateSetting */
        write_bytes(t, "sys/devices/pci0/usb2/2-1/descriptors", alone, sizeof(alone));
}
