/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This file depends on its asserts. */
#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/util.h"
#include "fake.h"

/* v b: udev finishes with disk and partitions 0.2..1.2 s later */
#define UDEV_USEC (250 * USEC_PER_MSEC)

struct fake *fake;

#define BOT_ALT 9, 4, 0, 0, 2, 0x08, 0x06, 0x50, 0, 7, 5, 0x81, 2, 0, 2, 0, 7, 5, 0x02, 2, 0, 2, 0
#define UAS_ALT(alt)                                                                               \
        9, 4, 0, alt, 4, 0x08, 0x06, 0x62, 0, 7, 5, 4, 2, 0, 2, 0, 4, 0x24, 1, 0, 7, 5, 0x83, 2,   \
                0, 2, 0, 4, 0x24, 2, 0, 7, 5, 0x81, 2, 0, 2, 0, 4, 0x24, 3, 0, 7, 5, 2, 2, 0, 2,   \
                0, 4, 0x24, 4, 0
#define DEVICE 18, 1, 0, 2, 0, 0, 0, 64, 9, 0x12, 0x5a, 0x5a, 0, 1, 1, 2, 3, 1
#define CONFIG(total) 9, 2, total, 0, 1, 1, 0, 0x80, 50

static const unsigned char both[] = {DEVICE, CONFIG(85), BOT_ALT, UAS_ALT(1)};
static const unsigned char uas_alone[] = {DEVICE, CONFIG(62), UAS_ALT(0)};
static const unsigned char bot_alone[] = {DEVICE, CONFIG(32), BOT_ALT};

__attribute__((format(printf, 3, 0))) static char *full(char *ret, size_t size, const char *format,
                                                        va_list ap)
{
        size_t n = (size_t) snprintf(ret, size, "%s/", fake->path);

        n += (size_t) vsnprintf(ret + n, size - n, format, ap);
        assert(n < size);
        return ret;
}

static void make_parents(char *path)
{
        for (char *slash = path + strlen(fake->path); (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                assert(mkdir(path, 0755) >= 0 || errno == EEXIST);
                *slash = '/';
        }
}

/* A reader at the same time does not see the file cut: it would take a count for zero. But it may
 * see the end of a longer text behind a shorter one. */
static void write_file(char *path, const void *data, size_t size)
{
        int fd;

        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) {
                make_parents(path);
                fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        }
        assert(fd >= 0);
        assert(write(fd, data, size) == (ssize_t) size);
        assert(ftruncate(fd, (off_t) size) == 0);
        (void) close(fd);
}

void tree_write(const char *text, const char *format, ...)
{
        char path[512];
        va_list ap;

        va_start(ap, format);
        write_file(full(path, sizeof(path), format, ap), text, strlen(text));
        va_end(ap);
}

/* target: relative to the top of the folder. The link is relative, like those of sysfs. */
_printf_(2, 3) static void tree_link(const char *target, const char *format, ...)
{
        char path[512], up[600] = "";
        size_t n = 0;
        va_list ap;

        va_start(ap, format);
        (void) full(path, sizeof(path), format, ap);
        va_end(ap);
        for (const char *slash = path + strlen(fake->path) + 1; (slash = strchr(slash, '/'));
             slash++)
                n += (size_t) snprintf(up + n, sizeof(up) - n, "../");
        (void) snprintf(up + n, sizeof(up) - n, "%s", target);
        if (symlink(up, path) >= 0)
                return;
        if (errno == EEXIST)
                (void) unlink(path);
        else
                make_parents(path);
        assert(symlink(up, path) >= 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

void tree_remove(const char *format, ...)
{
        char path[512];
        va_list ap;

        va_start(ap, format);
        (void) full(path, sizeof(path), format, ap);
        va_end(ap);
        (void) nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

bool tree_exists(const char *format, ...)
{
        char path[512];
        va_list ap;

        va_start(ap, format);
        (void) full(path, sizeof(path), format, ap);
        va_end(ap);
        return access(path, F_OK) >= 0;
}

/* ---- USB ---- */

static char *usb_dir(const struct fake_usb *u, char ret[static 96])
{
        (void) snprintf(ret, 96, "sys/devices/pci0/usb%u/%s", u->bus, u->port);
        return ret;
}

static void write_number(unsigned value, bool hex, const char *dir, const char *name)
{
        char text[32];

        (void) snprintf(text, sizeof(text), hex ? "%04x\n" : "%u\n", value);
        tree_write(text, "%s/%s", dir, name);
}

void tree_plug(struct fake_usb *u)
{
        char dir[96], interface[128], path[512];
        const unsigned char *d = u->bot ? u->uas ? both : bot_alone : uas_alone;
        size_t n = u->bot ? u->uas ? sizeof(both) : sizeof(bot_alone) : sizeof(uas_alone);
        char text[32];

        (void) snprintf(text, sizeof(text), "189:%u\n", (u->bus - 1) * 128 + u->dev - 1);
        (void) usb_dir(u, dir);
        tree_write(text, "%s/dev", dir);
        write_number(u->vid, true, dir, "idVendor");
        write_number(u->pid, true, dir, "idProduct");
        write_number(0x0100, true, dir, "bcdDevice");
        write_number(u->authorized, false, dir, "authorized");
        tree_write("480\n", "%s/speed", dir);
        tree_write(" 2.00\n", "%s/version", dir);
        tree_write("Fast\n", "%s/manufacturer", dir);
        tree_write("Disk\n", "%s/product", dir);
        tree_write(u->dev % 2 ? "SN1\n" : "SN2\n", "%s/serial", dir);
        (void) snprintf(path, sizeof(path), "%s/%s/descriptors", fake->path, dir);
        write_file(path, d, n);
        (void) snprintf(interface, sizeof(interface), "%s/%s", dir, u->interface);
        tree_write("08\n", "%s/bInterfaceClass", interface);
        tree_write("06\n", "%s/bInterfaceSubClass", interface);
        tree_write("00\n", "%s/bInterfaceNumber", interface);
        tree_write("1\n", "%s/authorized", interface);
        tree_link(dir, "sys/bus/usb/devices/%s", u->port);
        tree_link(interface, "sys/bus/usb/devices/%s", u->interface);
        tree_driver(u);
}

void tree_lock_device(const struct fake_usb *u)
{
        static const char *const strings[] = {"manufacturer", "product", "serial"};
        char dir[96], path[512];

        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s/%s", fake->path, usb_dir(u, dir),
                                strings[i]);
                assert(unlink(path) >= 0 && mkfifo(path, 0600) >= 0);
        }
}

void tree_unplug_interface(struct fake_usb *u)
{
        char dir[96];

        tree_remove("sys/bus/usb/devices/%s", u->interface);
        tree_remove("%s/%s", usb_dir(u, dir), u->interface);
}

void tree_unplug(struct fake_usb *u)
{
        char dir[96];

        tree_remove("sys/bus/usb/devices/%s", u->port);
        tree_remove("%s", usb_dir(u, dir));
}

/* The `driver` link, and the attributes of the interface that depend on the alternate setting. */
void tree_driver(struct fake_usb *u)
{
        char dir[96], driver[64], interface[128];

        (void) usb_dir(u, dir);
        tree_remove("%s/%s/driver", dir, u->interface);
        tree_remove("sys/bus/usb/drivers/uas/%s", u->interface);
        tree_remove("sys/bus/usb/drivers/usb-storage/%s", u->interface);
        (void) snprintf(interface, sizeof(interface), "%s/%s", dir, u->interface);
        if (u->driver == DRIVER_UAS || u->driver == DRIVER_USB_STORAGE)
                tree_link(interface, "sys/bus/usb/drivers/%s/%s", driver_to_string(u->driver),
                          u->interface);
        if (u->driver != DRIVER_NONE) {
                (void) snprintf(driver, sizeof(driver), "sys/bus/usb/drivers/%s",
                                u->driver == DRIVER_OTHER ? "usbfs" : driver_to_string(u->driver));
                tree_link(driver, "%s/%s/driver", dir, u->interface);
        }
        tree_write(u->alt ? " 1\n" : " 0\n", "%s/%s/bAlternateSetting", dir, u->interface);
        tree_write(u->alt || !u->bot ? "62\n" : "50\n", "%s/%s/bInterfaceProtocol", dir,
                   u->interface);
}

static char *host_dir(const struct fake_usb *u, char ret[static 160])
{
        char dir[96];

        (void) snprintf(ret, 160, "%s/%s/host%i", usb_dir(u, dir), u->interface, u->host);
        return ret;
}

/* Makes the host of an interface with a driver, or removes it with all that is below. */
void tree_host(struct fake_usb *u)
{
        char dir[160];

        (void) host_dir(u, dir);
        if (u->driver != DRIVER_NONE) {
                tree_write("", "%s/scsi_host/host%i/scan", dir, u->host);
                (void) snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/scsi_host/host%i",
                                u->host);
                tree_link(dir, "sys/class/scsi_host/host%i", u->host);
        } else {
                tree_remove("%s", dir);
                tree_remove("sys/class/scsi_host/host%i", u->host);
        }
}

/* ---- LUNs ---- */

/* The node has a link to its driver, which the count of opens needs. */
static void tree_block(const struct fake_usb *u, const struct fake_node *n, const char *dir)
{
        char text[32];

        (void) snprintf(text, sizeof(text), "8:%u\n", n->minor);
        tree_write(text, "%s/dev", dir);
        tree_write("", "%s/uevent", dir);
        tree_write("204800\n", "%s/size", dir);
        tree_link(dir, "sys/class/block/%s", n->name);
        (void) snprintf(text, sizeof(text), "%d", u->driver);
        tree_write(text, "dev/%s", n->name);
}

static char *scsi_dir(const struct fake_usb *u, unsigned lun, char ret[static 200])
{
        char host[160];

        (void) snprintf(ret, 200, "%s/target%i:0:0/%i:0:0:%u", host_dir(u, host), u->host, u->host,
                        lun);
        return ret;
}

void tree_scsi_state(struct fake_usb *u, unsigned lun, const char *state)
{
        char scsi[200], text[32];

        (void) snprintf(text, sizeof(text), "%s\n", state);
        tree_write(text, "%s/state", scsi_dir(u, lun, scsi));
}

/* The commands that the kernel has sent to the LUN and that it has answered. One that stalls owes
 * answers. */
void tree_commands(struct fake_usb *u, unsigned lun)
{
        bool owes = u->driver == DRIVER_UAS && (u->stalls_on_uas || u->bad_place == ETIMEDOUT) &&
                    !u->machine_late;
        uint64_t slow = u->answers_slowly ? fake->clock * 10 / USEC_PER_SEC : 0;
        char scsi[200], text[32];

        if (u->not_counted)
                return;
        (void) scsi_dir(u, lun, scsi);
        (void) snprintf(text, sizeof(text), "0x%llx\n", (unsigned long long) slow + 31);
        tree_write(text, "%s/iorequest_cnt", scsi);
        (void) snprintf(text, sizeof(text), "0x%llx\n",
                        (unsigned long long) slow + (owes ? 30 : 31));
        tree_write(text, "%s/iodone_cnt", scsi);
}

void tree_scsi(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];
        char scsi[200], text[32];

        (void) scsi_dir(u, lun, scsi);
        (void) snprintf(text, sizeof(text), "%u\n", l->type);
        tree_write(text, "%s/type", scsi);
        tree_write("", "%s/delete", scsi);
        tree_scsi_state(u, lun, "running");
        tree_commands(u, lun);
        (void) snprintf(text, sizeof(text), "21:%i\n", l->letter);
        tree_write(text, "%s/scsi_generic/sg%i/dev", scsi, l->letter);
        if (l->type == 0 && !l->declined)
                tree_link("sys/bus/scsi/drivers/sd", "%s/driver", scsi);
        tree_link(scsi, "sys/bus/scsi/devices/%i:0:0:%u", u->host, lun);
}

void tree_lun(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];
        char scsi[200], dir[256], part[300], text[32];

        tree_scsi(u, lun);
        (void) scsi_dir(u, lun, scsi);
        (void) snprintf(dir, sizeof(dir), "%s/block/%s", scsi, l->nodes[0].name);
        tree_block(u, &l->nodes[0], dir);
        if (l->empty)
                tree_write("0\n", "%s/size", dir);
        (void) snprintf(text, sizeof(text), "%llu\n", (unsigned long long) l->diskseq);
        if (!fake->no_diskseq)
                tree_write(text, "%s/diskseq", dir);
        tree_link(dir, "sys/block/%s", l->nodes[0].name);
        tree_link(scsi, "%s/device", dir);
        for (unsigned i = 1; i < l->n_nodes; i++) {
                (void) snprintf(part, sizeof(part), "%s/%s", dir, l->nodes[i].name);
                tree_write("1\n", "%s/partition", part);
                tree_block(u, &l->nodes[i], part);
        }
}

void tree_lun_gone(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];
        char scsi[200];

        for (unsigned i = 0; l->there && i < l->n_nodes; i++) {
                tree_remove("sys/class/block/%s", l->nodes[i].name);
                tree_remove("dev/%s", l->nodes[i].name);
        }
        if (l->there)
                tree_remove("sys/block/%s", l->nodes[0].name);
        tree_remove("sys/bus/scsi/devices/%i:0:0:%u", u->host, lun);
        tree_remove("%s", scsi_dir(u, lun, scsi));
}

/* ---- the machine ---- */

void fakesys_mount_table(void)
{
        char text[1024];
        size_t n = (size_t) snprintf(text, sizeof(text), "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n");

        for (unsigned i = 0; i < fake->n_usb; i++)
                for (unsigned l = 0; l < FAKE_LUNS; l++)
                        for (unsigned k = 0; k < fake->usb[i].luns[l].n_nodes; k++) {
                                const struct fake_node *node = &fake->usb[i].luns[l].nodes[k];

                                if (node->in_table && n < sizeof(text))
                                        n += (size_t) snprintf(
                                                text + n, sizeof(text) - n,
                                                "40 22 8:%u / /mnt/%s rw - ext4 /dev/%s rw\n",
                                                node->minor, node->name, node->name);
                        }
        tree_write(text, "proc/1/mountinfo");
}

static void has_open(int pid, const char *comm, const char *node)
{
        char target[64], path[96];

        tree_remove("proc/%i", pid);
        if (!node)
                return;
        tree_write(comm, "proc/%i/comm", pid);
        tree_write("", "proc/%i/fd/0", pid);
        (void) snprintf(target, sizeof(target), "/dev/%s", node);
        (void) snprintf(path, sizeof(path), "%s/proc/%i/fd/3", fake->path, pid);
        assert(symlink(target, path) >= 0);
}

void fakesys_open_table(const char *node)
{
        has_open(4242,
                 fake->reader  ? fake->reader
                 : fake->udevs ? "(udev-worker)\n"
                               : "x\nEND 0 a b\n",
                 node); /* a process may have any name */
}

void fakesys_hang_on(const char *node)
{
        char cgroup[96];

        if (node)
                fake->hangs = fake->own ? getpid() : 4343;
        has_open(fake->hangs, "uasd-switch\n", node);
        (void) snprintf(cgroup, sizeof(cgroup), "0::/system.slice/%s\n", fake->unit);
        if (node && fake->unit)
                tree_write(cgroup, "proc/%i/cgroup", fake->hangs);
        has_open(4344, "(udev-worker)\n", node);
}

void fakesys_set_quirks(const char *string)
{
        char text[sizeof(fake->quirks) + 2];

        (void) copy_string(fake->quirks, sizeof(fake->quirks), string);
        (void) snprintf(text, sizeof(text), "%s\n", string);
        tree_write(text, "sys/module/usb_storage/parameters/quirks");
}

void fakesys_set_ids(struct fake_usb *u, unsigned vid, unsigned pid)
{
        u->vid = vid;
        u->pid = pid;
        tree_plug(u);
}

struct fake_usb *fakesys_add_usb_disk(const char *port, enum driver driver, unsigned luns,
                                      unsigned partitions)
{
        struct fake_usb *u = &fake->usb[fake->n_usb++];

        assert(fake->n_usb <= FAKE_USB && luns <= FAKE_LUNS && partitions < FAKE_NODES);
        *u = (struct fake_usb){.plugged = true,
                               .bus = (unsigned) atoi(port),
                               .dev = 3 + 2 * fake->n_usb,
                               .vid = 0x1209,
                               .pid = 0x5a5a,
                               .bot = true,
                               .uas = true,
                               .authorized = true,
                               .n_luns = luns,
                               .n_parts = partitions};
        (void) copy_string(u->port, sizeof(u->port), port);
        (void) snprintf(u->interface, sizeof(u->interface), "%s:1.0", port);
        for (unsigned i = 0; i < luns; i++)
                u->luns[i].content = 17 * fake->n_usb + i;
        tree_plug(u);
        if (driver != DRIVER_NONE) {
                char before[sizeof(fake->quirks)];

                /* As at boot: the quirks of that time differ from those of now. */
                memcpy(before, fake->quirks, sizeof(before));
                fakesys_set_quirks(driver == DRIVER_UAS ? "" : "1209:5a5a:u");
                assert(kernel_bind(driver, u->interface) == 0);
                fakesys_set_quirks(before);
                kernel_pass(3 * USEC_PER_SEC);
        }
        u->touched = u->unbound = 0;
        fake->n_events = 0;
        return u;
}

void fakesys_make(void)
{
        (void) signal(SIGPIPE, SIG_IGN); /* as uasd-switch does */
        fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert(fake != MAP_FAILED);
        *fake = (struct fake){.clock = 100 * USEC_PER_SEC,
                              .uas_loaded = true,
                              .uas_loadable = true,
                              .diskseq = 7,
                              .udev_usec = UDEV_USEC};
        strcpy(fake->path, access("/dev/shm", W_OK) >= 0 ? "/dev/shm/uasd-fake-XXXXXX"
                                                         : "/tmp/uasd-fake-XXXXXX");
        assert(mkdtemp(fake->path));
        fakesys_set_quirks("");
        tree_write("", "sys/bus/usb/drivers/usb-storage/bind");
        tree_write("", "sys/bus/usb/drivers/uas/bind");
        tree_write("", "sys/bus/scsi/drivers/sd/bind");
        tree_write("", "sys/block/loop0/size");
        tree_write("Filename Type Size Used Priority\n", "proc/swaps");
        tree_write("quiet\n", "proc/cmdline");
        tree_write("6.1.0-fake\n", "proc/sys/kernel/osrelease");
        tree_write("11111111-2222-3333-4444-555555555555\n", "proc/sys/kernel/random/boot_id");
        tree_write("", "run/udev/control");
        tree_write("", "dev/null");
        tree_write("", "etc/fstab");
        tree_write("", "usr/lib/os-release");
        tree_write("", "var/log/lastlog");
        fakesys_mount_table();
        assert(roots_open(&fake->roots, fake->path) >= 0);
}

void fakesys_remove(void)
{
        fake_someone_closes();
        roots_close(&fake->roots);
        (void) nftw(fake->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        (void) munmap(fake, sizeof(*fake));
        fake = NULL;
}
