/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "client/client.h"
#include "client/local.h"
#include "ctl/context.h"
#include "ctl/options.h"
#include "ctl/verbs.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"

/* A machine in a folder: one disk behind 2-1:1.0, on usb-storage, able to do more. */
struct fixture {
        char dir[32];
        struct roots roots;
};

#define INTERFACE "devices/usb2/2-1/2-1:1.0"
#define BLOCK INTERFACE "/host3/target3:0:0/3:0:0:0/block/sdb"

/* Device, configuration, BOT without endpoints, UAS with four bulk pipes of 32 streams, each with
 * its usage. */
#define PIPE(address, id) 7, 5, address, 2, 0, 4, 0, 6, 0x30, 0, 5, 0, 0, 4, 0x24, id, 0
static const unsigned char descriptors[] = {
        18,
        1,
        0x20,
        3,
        0,
        0,
        0,
        9,
        0x09,
        0x12,
        0x5a,
        0x5a,
        0x14,
        0x02,
        1,
        2,
        3,
        1,
        9,
        2,
        95,
        0,
        1,
        1,
        0,
        0x80,
        50,
        9,
        4,
        0,
        0,
        0,
        8,
        6,
        0x50,
        0,
        9,
        4,
        0,
        1,
        4,
        8,
        6,
        0x62,
        0,
        PIPE(0x01, 1),
        PIPE(0x82, 2),
        PIPE(0x83, 3),
        PIPE(0x04, 4),
};

/* SuperSpeed, and 10 * 10^9 bit/s. */
static const unsigned char bos[] = {
        5,  0x0f, 31, 0, 2,                  /* */
        10, 0x10, 3,  0, 14, 0, 1, 10, 0, 1, /* */
        16, 0x10, 10, 0, 0,  0, 0, 0,  0, 0x11, 0, 0, 0x30, 0, 10, 0,
};

static void make_dir(int dir, const char *path)
{
        char part[PATH_MAX];

        for (const char *slash = path; *slash; slash++)
                if (slash[1] == '/' || !slash[1]) {
                        (void) snprintf(part, sizeof(part), "%.*s", (int) (slash + 1 - path), path);
                        assert_true(mkdirat(dir, part, 0755) == 0 || errno == EEXIST);
                }
}

static void write_file(int dir, const char *path, const void *data, size_t size)
{
        int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, size), size);
        (void) close(fd);
}

static void write_text(int dir, const char *path, const char *text)
{
        write_file(dir, path, text, strlen(text));
}

static void make_disk(int sys)
{
        static const char *const texts[][2] = {
                {"devices/usb2/2-1/dev", "189:132\n"},
                {"devices/usb2/2-1/idVendor", "1209\n"},
                {"devices/usb2/2-1/idProduct", "5a5a\n"},
                {"devices/usb2/2-1/bcdDevice", "0214\n"},
                {"devices/usb2/2-1/speed", "5000\n"},
                {"devices/usb2/2-1/version", " 3.20\n"},
                {"devices/usb2/2-1/manufacturer", "Maker\n"},
                {"devices/usb2/2-1/product", "Disk\n"},
                {"devices/usb2/2-1/serial", "S1\n"},
                {INTERFACE "/bInterfaceClass", "08\n"},
                {INTERFACE "/bInterfaceSubClass", "06\n"},
                {INTERFACE "/bInterfaceProtocol", "50\n"},
                {INTERFACE "/bInterfaceNumber", "00\n"},
                {INTERFACE "/host3/target3:0:0/3:0:0:0/type", "0\n"},
                {BLOCK "/dev", "8:16\n"},
                {BLOCK "/size", "2048\n"},
                {BLOCK "/diskseq", "7\n"},
                {BLOCK "/sdb1/dev", "8:17\n"},
                {BLOCK "/sdb1/partition", "1\n"},
                {"module/usb_storage/parameters/quirks", "\n"},
        };

        make_dir(sys, BLOCK "/sdb1/holders");
        make_dir(sys, BLOCK "/holders");
        make_dir(sys, "bus/usb/devices");
        make_dir(sys, "bus/usb/drivers/uas");
        make_dir(sys, "bus/usb/drivers/usb-storage");
        make_dir(sys, "module/usb_storage/parameters");
        make_dir(sys, "class/block");
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                write_text(sys, texts[i][0], texts[i][1]);
        write_file(sys, "devices/usb2/2-1/descriptors", descriptors, sizeof(descriptors));
        write_file(sys, "devices/usb2/2-1/bos_descriptors", bos, sizeof(bos));
        assert_int_equal(symlinkat("../../../devices/usb2/2-1", sys, "bus/usb/devices/2-1"), 0);
        assert_int_equal(symlinkat("../../../" INTERFACE, sys, "bus/usb/devices/2-1:1.0"), 0);
        assert_int_equal(
                symlinkat("../../../../bus/usb/drivers/usb-storage", sys, INTERFACE "/driver"), 0);
        assert_int_equal(symlinkat("../../" BLOCK, sys, "class/block/sdb"), 0);
        assert_int_equal(symlinkat("../../" BLOCK "/sdb1", sys, "class/block/sdb1"), 0);
}

static int setup(void **state)
{
        static const char *const trees[] = {"sys",      "proc/1",       "dev",         "run/uasd",
                                            "etc/uasd", "usr/lib/uasd", "var/lib/uasd"};
        struct fixture *f = calloc(1, sizeof(*f));
        int dir;

        assert_non_null(f);
        (void) copy_string(f->dir, sizeof(f->dir), "/tmp/ctl-local-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        dir = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir >= 0);
        for (size_t i = 0; i < ELEMENTSOF(trees); i++)
                make_dir(dir, trees[i]);
        (void) close(dir);
        assert_int_equal(roots_open(&f->roots, f->dir), 0);
        write_text(f->roots.proc, "1/mountinfo", "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n");
        write_text(f->roots.proc, "swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
        make_disk(f->roots.sys);
        *state = f;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        roots_close(&f->roots);
        (void) nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(f);
        return 0;
}

static void free_disk(void **state)
{
        _cleanup_(views_done) struct views views = {};
        struct fixture *f = *state;
        const struct disk *d;

        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.n, 1);
        d = &views.list[0].disk;
        assert_string_equal(d->facts.interface, "2-1:1.0");
        assert_string_equal(d->facts.serial, "S1");
        assert_int_equal(d->facts.max_speed_mbps, 10000);
        assert_string_equal(d->host, "host3");
        assert_int_equal(d->n_luns, 1);
        assert_string_equal(d->luns[0].disk.name, "sdb");
        assert_true(d->luns[0].size == 1024 * 1024);
        assert_int_equal(d->n_users, 0);
        assert_int_equal(d->decision.target, DRIVER_UAS);
        assert_int_equal(d->state, STATE_SETTLED);
        assert_int_equal(d->outcome.code, -1);
        assert_true(view_capable(&views.list[0]));
        assert_string_equal(views.list[0].reason_id, "unknown-bridge");
        assert_string_equal(
                views.list[0].reason,
                "uasd would switch it to uas, but is not running. The database has no verdict on this bridge, so Unknown= in uasd.conf decides.");
}

static void mounted_disk(void **state)
{
        _cleanup_(views_done) struct views views = {};
        struct fixture *f = *state;

        write_text(f->roots.proc, "1/mountinfo",
                   "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                   "30 20 8:17 / /mnt/usb rw - ext4 /dev/sdb1 rw\n");
        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.list[0].users_error, 0);
        assert_int_equal(views.list[0].disk.n_users, 1);
        assert_string_equal(views.list[0].disk.users[0].where, "/mnt/usb");
        assert_int_equal(views.list[0].disk.state, STATE_SETTLED);
}

static void configured_disk(void **state)
{
        _cleanup_(views_done) struct views views = {};
        struct fixture *f = *state;

        write_text(f->roots.etc, "uasd/uasd.conf", "[Disk 1209:5a5a]\nPolicy=usb-storage\n");
        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.list[0].disk.state, STATE_SETTLED);
        assert_int_equal(views.list[0].disk.facts.policy, POLICY_USB_STORAGE);
        assert_string_equal(views.list[0].reason_id, "policy");
}

static void held_disk(void **state)
{
        struct fixture *f = *state;
        struct hold_mark m = {.attachment = {2, 5}, .deadline = now_boottime() + 60 * USEC_PER_SEC};
        _cleanup_(views_done) struct views views = {};

        assert_int_equal(hold_write(&f->roots, "2-1:1.0", &m), 0);
        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.list[0].disk.state, STATE_HELD);
}

/* A hold of an earlier device at that port does not count. */
static void stale_hold(void **state)
{
        struct fixture *f = *state;
        struct hold_mark m = {.attachment = {2, 4}, .deadline = now_boottime() + 60 * USEC_PER_SEC};
        _cleanup_(views_done) struct views views = {};

        assert_int_equal(hold_write(&f->roots, "2-1:1.0", &m), 0);
        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.list[0].disk.state, STATE_SETTLED);
}

static void no_usb(void **state)
{
        _cleanup_(views_done) struct views views = {};
        struct fixture *f = *state;

        assert_int_equal(unlinkat(f->roots.sys, "bus/usb/devices/2-1:1.0", 0), 0);
        assert_int_equal(local_read(&f->roots, DETAIL_ALL, NULL, &views), 0);
        assert_int_equal(views.n, 0);
}

/* Runs a verb, as main.c does. Returns its exit status and its output. */
static int run(const struct fixture *f, const struct options *o, char *ret, size_t size,
               const char *const *words)
{
        char *copy[5] = {};
        const struct verb *v;
        int saved, fd, code;
        ssize_t n;

        for (size_t i = 0; words[i]; i++)
                copy[i] = (char *) words[i];
        v = verb_check(o, copy);
        assert_non_null(v);
        (void) fflush(stdout);
        saved = dup(STDOUT_FILENO);
        fd = openat(f->roots.run, "output", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
        code = verb_run(v, &(struct ctl){.options = o, .client = {.roots = f->roots}}, copy + 1);
        (void) fflush(stdout);
        assert_true(dup2(saved, STDOUT_FILENO) >= 0);
        (void) close(saved);
        n = pread(fd, ret, size - 1, 0);
        assert_true(n >= 0);
        ret[n] = '\0';
        (void) close(fd);
        return code;
}

#define RUN(f, o, ret, ...) run(f, o, ret, sizeof(ret), (const char *const[]){__VA_ARGS__, NULL})

static const struct options defaults = {.legend = true, .wait_usec = UINT64_MAX};

static void verbs_without_daemon(void **state)
{
        const struct options json = {.json = true, .wait_usec = UINT64_MAX};
        struct fixture *f = *state;
        char out[16384];

        assert_int_equal(RUN(f, &defaults, out, "list"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "needs uasd"));
        assert_int_equal(RUN(f, &defaults, out, "status", "S1"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Disk, 1M, on usb-storage - needs uasd"));
        assert_non_null(strstr(out, "but is not running"));
        assert_int_equal(RUN(f, &defaults, out, "policy", "sdb1"), UASD_EXIT_OK);
        assert_string_equal(out, "auto\n");
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "unknown-bridge"));
        assert_non_null(strstr(out, "uasctl policy 2-1 uas"));
        assert_int_equal(RUN(f, &json, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"decides\": true"));
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdc"), UASD_EXIT_NO_DISK);
        assert_int_equal(RUN(f, &defaults, out, "switch", "sdb", "uas"), UASD_EXIT_FAILED);
        assert_int_equal(RUN(f, &defaults, out, "policy", "sdb", "uas"), UASD_EXIT_FAILED);
        assert_int_equal(RUN(f, &defaults, out, "forget", "sdb"), UASD_EXIT_FAILED);
        /* It is on the wrong driver, and nothing will switch it. */
        assert_int_equal(RUN(f, &defaults, out, "wait", "sdb"), UASD_EXIT_FAILED);
}

/* The same disk behind a hub, with two LUNs, below a controller. */
static void hubs(void **state)
{
        const struct options o = {.given = OPTION_TREE | OPTION_OUTPUT,
                                  .columns = "id,size,link,driver,product"};
        struct fixture *f = *state;
        int sys = f->roots.sys;
        char out[16384];

        make_dir(sys, "devices/pci0/0000:00:14.0/usb2");
        write_text(sys, "devices/pci0/0000:00:14.0/usb2/speed", "10000\n");
        assert_int_equal(symlinkat("../../../bus/pci/drivers/xhci_hcd", sys,
                                   "devices/pci0/0000:00:14.0/driver"),
                         0);
        assert_int_equal(
                symlinkat("../../../devices/pci0/0000:00:14.0/usb2", sys, "bus/usb/devices/usb2"),
                0);
        assert_int_equal(symlinkat("../../../devices/usb2/2-1", sys, "bus/usb/devices/2-1.4"), 0);
        assert_int_equal(renameat(sys, "bus/usb/devices/2-1:1.0", sys, "bus/usb/devices/2-1.4:1.0"),
                         0);
        write_text(sys, "devices/usb2/2-1/dev", "189:132\n");
        make_dir(f->roots.run, "udev/data");
        write_text(f->roots.run, "udev/data/c189:132",
                   "E:ID_VENDOR=Some_\033Maker\nE:ID_MODEL=USB_Hub\n");
        assert_int_equal(RUN(f, &o, out, "list"), UASD_EXIT_OK);
        assert_string_equal(out,
                            "usb2               10 Gbit/s xhci_hcd     0000:00:14.0\n"
                            "`-2-1               5 Gbit/s hub          Some \\x5cx1bMaker USB Hub\n"
                            "  `-2-1.4:1.0   1M 5 Gbit/s! usb-storage! Maker Disk\n");
        make_dir(sys, INTERFACE "/host3/target3:0:0/3:0:0:1/block/sdc");
        write_text(sys, INTERFACE "/host3/target3:0:0/3:0:0:1/type", "0\n");
        write_text(sys, INTERFACE "/host3/target3:0:0/3:0:0:1/block/sdc/dev", "8:32\n");
        write_text(sys, INTERFACE "/host3/target3:0:0/3:0:0:1/block/sdc/size", "4096\n");
        assert_int_equal(RUN(f, &o, out, "list"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "`-2-1.4:1.0   3M "));
        assert_non_null(strstr(out, "    |-sdb       1M "));
        assert_non_null(strstr(out, "    `-sdc       2M "));
}

static void database(void **state)
{
        const struct options json = {.json = true, .wait_usec = UINT64_MAX};
        struct fixture *f = *state;
        char out[16384];

        assert_int_equal(RUN(f, &defaults, out, "db", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Bridge: 1209:5a5a, firmware 2.14"));
        assert_non_null(strstr(out, "Verdict: unknown"));
        assert_non_null(strstr(out, "did not know this bridge"));
        assert_null(strstr(out, "SOURCE"));
        assert_int_equal(RUN(f, &defaults, out, "db", "sdz"), UASD_EXIT_NO_DISK);

        write_text(f->roots.sys, "devices/usb2/2-1/dev", "189:132\n");
        make_dir(f->roots.run, "udev/data");
        write_text(f->roots.run, "udev/data/c189:132",
                   "I:1\nE:UASD_DB_CHIP=A \033[31mchip\n"
                   "E:UASD_DB_1=bad;0100-0210;*;List one;2026-10;slow\n"
                   "E:UASD_DB_2=good;0211-0300;*;List two;2026-11\n"
                   "E:UASD_DB_3=bad;*;nosuchhost;List three;2026-11\n");
        assert_int_equal(RUN(f, &defaults, out, "db", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Chip: A \\x1b[31mchip\n"));
        assert_non_null(strstr(out, "Verdict: good\n"));
        assert_non_null(strstr(out, "\nAPPLIES "));
        assert_non_null(strstr(out, "other firmware bad "));
        assert_non_null(strstr(out, "1.00-2.10"));
        assert_non_null(strstr(out, "other host "));
        assert_int_equal(RUN(f, &json, out, "db", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"firmware_max\": \"0210\""));
        assert_non_null(strstr(out, "\"host_fits\": false"));
        assert_non_null(strstr(out, "\"source\": \"List three\""));

        write_text(
                f->roots.run, "udev/data/c189:132",
                "I:1\nE:UASD_DB_1=bad;*;*;List one;2026-10\nE:UASD_DB_2=good;*;*;List two;2026-11\n");
        assert_int_equal(RUN(f, &defaults, out, "db", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Verdict: unknown\n"));
        assert_non_null(strstr(out, "contradict each other"));
        assert_non_null(strstr(out, "List one"));
        assert_non_null(strstr(out, "List two"));

        write_text(f->roots.run, "udev/data/c189:132",
                   "I:1\nE:UASD_VERDICT=bad\nE:UASD_DB_1=good;*;*;List two;2026-11\n");
        assert_int_equal(RUN(f, &defaults, out, "db", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Verdict: bad\n"));
        assert_non_null(strstr(out, "UASD_VERDICT"));
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "-> verdict-bad "));
}

/* The origin of the entry, and how to remove it. */
static void explain_quirks(void **state)
{
        const struct options json = {.json = true, .wait_usec = UINT64_MAX};
        struct fixture *f = *state;
        char out[16384];

        make_dir(f->roots.etc, "modprobe.d");
        write_text(f->roots.etc, "modprobe.d/local.conf",
                   "# mine\noptions usb-storage quirks=1209:5a5a:f\n");
        write_text(f->roots.proc, "cmdline", "quiet usb-storage.quirks=1:1:u,1209:5a5a:u\n");
        write_text(f->roots.sys, "module/usb_storage/initstate", "live\n");
        write_text(f->roots.sys, "module/usb_storage/parameters/quirks", "1:1:u,1209:5a5a:u\n");
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "-> quirk "));
        assert_non_null(strstr(out, "To change: Remove 1209:5a5a:u from the kernel command line"));
        assert_non_null(strstr(out, "Or: uasctl policy 2-1 uas\n"));
        assert_non_null(strstr(out, "Quirks: 1209:5a5a:u, by the kernel command line: in force\n"));
        assert_non_null(strstr(
                out,
                "\n            1209:5a5a:f, by /etc/modprobe.d/local.conf, line 2: overruled"));
        assert_int_equal(RUN(f, &json, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"source\": \"command-line\""));
        assert_non_null(strstr(out, "\"file\": \"/etc/modprobe.d/local.conf\""));
        assert_non_null(strstr(out, "\"effect\": \"overruled\""));

        /* The policy changed, and the entry that the initramfs made for it is still there. It is
         * attributed to uasd. */
        write_text(f->roots.proc, "cmdline", "quiet\n");
        write_text(f->roots.etc, "modprobe.d/local.conf", "");
        write_text(f->roots.run, "uasd/quirks", "quirks=1209:5a5a:u\n");
        write_text(f->roots.sys, "module/usb_storage/parameters/quirks", "1209:5a5a:u\n");
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "-> unknown-bridge "));
        assert_non_null(strstr(
                out, "Quirks: 1209:5a5a:u, by uasd, which keeps such disks off uas: in force\n"));
        write_text(f->roots.run, "uasd/quirks", "quirks=\n");
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "-> quirk "));
        assert_non_null(strstr(out, "Quirks: 1209:5a5a:u, by a user or program at run time"));
}

/* The link has only high speed: the part that limits it. The tree is that of xHCI: bus 1 is the
 * other half of the controller. */
static void slow_link(void **state)
{
        const struct options json = {.json = true, .wait_usec = UINT64_MAX};
        struct fixture *f = *state;
        int sys = f->roots.sys;
        char out[16384];

        assert_int_equal(RUN(f, &defaults, out, "status", "sdb"), UASD_EXIT_OK);
        assert_null(strstr(out, "Advice"));
        assert_int_equal(unlinkat(sys, "devices/usb2/2-1/bos_descriptors", 0), 0);
        make_dir(sys, "devices/usb1");
        assert_int_equal(symlinkat("../../../devices/usb1", sys, "bus/usb/devices/usb1"), 0);
        assert_int_equal(symlinkat("../../../devices/usb2", sys, "bus/usb/devices/usb2"), 0);
        write_text(sys, "devices/usb1/speed", "5000\n");
        write_text(sys, "devices/usb2/speed", "480\n");
        write_text(sys, "devices/usb2/version", " 2.00\n");
        write_text(sys, "devices/usb2/2-1/speed", "480\n");
        write_text(sys, "devices/usb2/2-1/version", " 2.10\n");
        make_dir(sys, "devices/usb2/2-0:1.0/usb2-port1/peer");
        assert_int_equal(symlinkat("../2-0:1.0/usb2-port1", sys, "devices/usb2/2-1/port"), 0);
        assert_int_equal(RUN(f, &defaults, out, "status", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(
                out,
                "Advice: It seems able to do SuperSpeed, but its link has 480 Mbit/s. Its port has"));
        write_file(sys, "devices/usb2/2-1/bos_descriptors", bos, sizeof(bos));
        assert_int_equal(RUN(f, &defaults, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(
                out, "Advice: It can do SuperSpeed, but its link has 480 Mbit/s. Its port has"));
        assert_int_equal(unlinkat(sys, "devices/usb2/2-0:1.0/usb2-port1/peer", AT_REMOVEDIR), 0);
        assert_int_equal(RUN(f, &json, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"super_speed\": \"yes\""));
        assert_non_null(strstr(out, "\"limit\": \"port\""));
        assert_non_null(strstr(out, "\"hub\": null"));
        write_text(sys, "devices/usb1/speed", "480\n");
        assert_int_equal(RUN(f, &json, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"limit\": \"controller\""));
        write_text(sys, "devices/usb1/speed", "10000\n");
        assert_int_equal(unlinkat(sys, "devices/usb2/2-1/port", 0), 0);
        assert_int_equal(RUN(f, &json, out, "explain", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"limit\": \"unknown\""));
}

/* No driver, though uas is loaded. The kernel's log shows the reason, if it is readable. */
static void explain_no_driver(void **state)
{
        static const char record[] = "4,1042,98765,-;uas: probe of 2-1:1.0 failed with error -28\n";
        struct fixture *f = *state;
        char out[16384];

        assert_int_equal(RUN(f, &defaults, out, "explain", "2-1"), UASD_EXIT_OK);
        assert_null(strstr(out, "Unbound"));
        assert_int_equal(unlinkat(f->roots.sys, INTERFACE "/driver", 0), 0);
        assert_int_equal(RUN(f, &defaults, out, "explain", "2-1"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Unbound: uas is loaded, but the disk has no driver"));
        write_text(f->roots.dev, "kmsg", record);
        assert_int_equal(RUN(f, &defaults, out, "explain", "2-1"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "Unbound: The probe of uas failed with error -28"));
        /* A kernel log that only root can read. */
        assert_int_equal(unlinkat(f->roots.dev, "kmsg", 0), 0);
        assert_int_equal(RUN(f, &defaults, out, "explain", "2-1"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "The kernel's log may show the reason."));
        assert_null(strstr(out, "journalctl")); /* there is none */
}

static void policy_kernel_line(void **state)
{
        const struct options kernel = {.legend = true, .given = OPTION_KERNEL},
                             bare = {.given = OPTION_KERNEL},
                             json = {.json = true, .given = OPTION_KERNEL},
                             forced = {.given = OPTION_KERNEL | OPTION_FORCE};
        struct fixture *f = *state;
        char out[16384];

        write_text(f->roots.sys, "module/usb_storage/initstate", "live\n");
        write_text(f->roots.proc, "cmdline", "quiet\n");
        /* A usage error prints nothing. */
        assert_int_equal(RUN(f, &defaults, out, "policy"),
                         UASD_EXIT_OK); /* it lists the policies */
        assert_int_equal(RUN(f, &kernel, out, "policy", "sdb", "uas"), UASD_EXIT_USAGE);
        assert_int_equal(RUN(f, &forced, out, "policy"), UASD_EXIT_USAGE);
        assert_int_equal(RUN(f, &kernel, out, "policy", "sdz"), UASD_EXIT_NO_DISK);
        assert_string_equal(out, "");
        /* No policy differs from the choice of the kernel. */
        assert_int_equal(RUN(f, &kernel, out, "policy"), UASD_EXIT_OK);
        assert_string_equal(out, "");
        assert_int_equal(RUN(f, &kernel, out, "policy", "sdb"), UASD_EXIT_OK);
        assert_string_equal(out, "");

        write_text(f->roots.etc, "uasd/policy", "1209:5a5a:S1=usb-storage\n");
        make_dir(f->roots.etc, "modprobe.d");
        write_text(f->roots.etc, "modprobe.d/local.conf", "options usb-storage quirks=1:1:f\n");
        assert_int_equal(RUN(f, &kernel, out, "policy"), UASD_EXIT_OK);
        assert_string_equal(
                out,
                "# For the kernel command line, in the boot loader's configuration:\nusb-storage.quirks=1209:5a5a:u,1:1:f\n# Or for a file in /etc/modprobe.d, instead of a line for usb-storage that is there:\noptions usb-storage quirks=1209:5a5a:u,1:1:f\n");
        assert_int_equal(RUN(f, &bare, out, "policy", "sdb"), UASD_EXIT_OK);
        assert_string_equal(
                out,
                "usb-storage.quirks=1209:5a5a:u,1:1:f\noptions usb-storage quirks=1209:5a5a:u,1:1:f\n");
        /* The command line overrules modprobe.d, so its line has the entries of both. */
        write_text(f->roots.proc, "cmdline", "quiet usb-storage.quirks=2:2:u\n");
        make_dir(f->roots.etc, "initramfs-tools");
        write_text(f->roots.etc, "initramfs-tools/initramfs.conf", "");
        make_dir(f->roots.lib, "../bin");
        write_text(f->roots.lib, "../bin/update-initramfs", "");
        assert_int_equal(fchmodat(f->roots.lib, "../bin/update-initramfs", 0755, 0), 0);
        assert_int_equal(RUN(f, &bare, out, "policy"), UASD_EXIT_OK);
        assert_string_equal(
                out,
                "usb-storage.quirks=1209:5a5a:u,1:1:f,2:2:u\noptions usb-storage quirks=1209:5a5a:u,1:1:f\n");
        assert_int_equal(RUN(f, &json, out, "policy"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"line\": \"usb-storage.quirks=1209:5a5a:u,1:1:f,2:2:u\""));
        assert_non_null(strstr(out, "\"added\": \"1209:5a5a:u\""));
        assert_non_null(strstr(out, "\"initramfs\": \"update-initramfs -u\""));
        /* Uas, against an entry by another program. */
        write_text(f->roots.etc, "uasd/policy", "1209:5a5a:S1=uas\n");
        write_text(f->roots.proc, "cmdline", "usb-storage.quirks=1209:5a5a:fu\n");
        assert_int_equal(RUN(f, &bare, out, "policy", "sdb"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "usb-storage.quirks=1209:5a5a:f,1:1:f\n"));
        /* Built in: only one place. */
        assert_int_equal(unlinkat(f->roots.sys, "module/usb_storage/initstate", 0), 0);
        write_text(f->roots.proc, "cmdline", "quiet\n");
        write_text(f->roots.etc, "uasd/policy", "1209:5a5a:S1=usb-storage\n");
        assert_int_equal(RUN(f, &bare, out, "policy"), UASD_EXIT_OK);
        assert_string_equal(out, "usb-storage.quirks=1209:5a5a:u\n");
        assert_int_equal(RUN(f, &json, out, "policy"), UASD_EXIT_OK);
        assert_non_null(strstr(out, "\"modprobe\": null"));

        /* No room, and the existing string is too long already. */
        write_text(f->roots.sys, "module/usb_storage/initstate", "live\n");
        write_text(
                f->roots.proc, "cmdline",
                "usb-storage.quirks=1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,"
                "3333:3333:abcdefghijklmnopqrstuwy,4444:4444:abcdefg\n");
        assert_int_equal(RUN(f, &bare, out, "policy", "sdb"), UASD_EXIT_FAILED);
        assert_string_equal(out, "");
        assert_int_equal(RUN(f, &json, out, "policy"), UASD_EXIT_FAILED);
        assert_non_null(strstr(out, "\"disk\": \"1209:5a5a:S1\""));
        write_text(
                f->roots.proc, "cmdline",
                "usb-storage.quirks=1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,"
                "3333:3333:abcdefghijklmnopqrstuwy,4444:4444:abcdefghijklmnopqrstuwy\n");
        assert_int_equal(RUN(f, &bare, out, "policy"), UASD_EXIT_OK);
        /* The entry of modprobe.d comes before them; the last one does not fit. */
        assert_string_equal(
                out,
                "usb-storage.quirks=1209:5a5a:u,1:1:f,1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,"
                "3333:3333:abcdefghijklmnopqrstuwy\noptions usb-storage quirks=1209:5a5a:u,1:1:f\n");
        /* Policies without a choice of driver. */
        write_text(f->roots.proc, "cmdline", "quiet\n");
        write_text(f->roots.etc, "uasd/policy", "1209:5a5a:S1=ignore\n");
        assert_int_equal(RUN(f, &bare, out, "policy", "sdb"), UASD_EXIT_REFUSED);
        write_file(f->roots.sys, "devices/usb2/2-1/descriptors", descriptors, 18);
        assert_int_equal(RUN(f, &bare, out, "policy", "sdb"), UASD_EXIT_INCAPABLE);
        assert_string_equal(out, "");
}

static void dry_runs(void **state)
{
        struct options o = {.given = OPTION_DRY_RUN};
        struct fixture *f = *state;
        char out[256];

        assert_int_equal(RUN(f, &o, out, "switch", "sdb", "uas"), UASD_EXIT_OK);
        assert_int_equal(RUN(f, &o, out, "switch", "sdb", "usb-storage"), UASD_EXIT_OK);
        assert_int_equal(RUN(f, &o, out, "switch", "sdb"), UASD_EXIT_OK);
        assert_int_equal(RUN(f, &o, out, "switch", "sdz"), UASD_EXIT_NO_DISK);
        write_text(f->roots.proc, "1/mountinfo", "30 20 8:17 / /mnt/usb rw - ext4 /dev/sdb1 rw\n");
        assert_int_equal(RUN(f, &o, out, "switch", "sdb", "uas"), UASD_EXIT_REFUSED);
        assert_string_equal(out, ""); /* this text belongs on stderr */
}

/* The hold ends without a notification. */
static void wait_for_a_hold(void **state)
{
        struct fixture *f = *state;
        struct hold_mark m = {.attachment = {2, 5},
                              .deadline = now_boottime() + 700 * USEC_PER_MSEC};
        struct options o = {.wait_usec = 100 * USEC_PER_MSEC};
        char out[256];

        write_text(f->roots.etc, "uasd/uasd.conf", "[uasd]\nPolicy=ignore\n");
        assert_int_equal(hold_write(&f->roots, "2-1:1.0", &m), 0);
        assert_int_equal(RUN(f, &o, out, "wait", "sdb"), UASD_EXIT_DEFERRED);
        assert_int_equal(RUN(f, &defaults, out, "wait", "sdb"), UASD_EXIT_OK);
        assert_true(now_boottime() >= m.deadline);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(free_disk),
                TEST(mounted_disk),
                TEST(configured_disk),
                TEST(held_disk),
                TEST(stale_hold),
                TEST(no_usb),
                TEST(verbs_without_daemon),
                TEST(dry_runs),
                TEST(database),
                TEST(explain_quirks),
                TEST(explain_no_driver),
                TEST(slow_link),
                TEST(policy_kernel_line),
                TEST(hubs),
                TEST(wait_for_a_hold),
        };

        /* No test connects to the bus of this machine. */
        (void) setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);

        return cmocka_run_group_tests(tests, NULL, NULL);
}
