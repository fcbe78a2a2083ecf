/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "play.h"
#include "sys/state/switch-record.h"

/* uasd-switch --eject: a disk in use stays, and no byte of an ejected disk is lost. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

static void mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[u->n_luns - 1].nodes[1].name, true), 0);
}

static void mounted_elsewhere(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[0].nodes[1].name, false), 0);
}

static void other_interface(struct fake_usb *u)
{
        tree_write("ff\n", "sys/bus/usb/devices/2-1:1.1/bInterfaceClass");
}

static void similar_ports(struct fake_usb *u)
{
        tree_write("08\n", "sys/bus/usb/devices/2-1.1:1.0/bInterfaceClass");
        tree_write("08\n", "sys/bus/usb/devices/2-10:1.0/bInterfaceClass");
}

static void spins_up(struct fake_usb *u)
{
        tree_lun_gone(u, 0);
        u->luns[0].there = false;
}

static void of_another(struct fake_usb *u)
{
        u->driver = DRIVER_OTHER;
        tree_driver(u);
        u->driver = UAS;
}

static void was_written(struct fake_usb *u)
{
        tree_write("9 1 99 5 3 2 64 7 0 8 9 0 0 0 0 4 1\n", "sys/class/block/sda/stat");
}

static void udev_reads_it(struct fake_usb *u)
{
        fake->udevs = 4;
}

static void udisks_reads_it(struct fake_usb *u)
{
        udev_reads_it(u);
        fake->reader = "dumpe2fs\n";
}

static void udev_never_ends(struct fake_usb *u)
{
        fake->udevs = 1000;
}

static void strings_hang(struct fake_usb *u)
{
        tree_lock_device(u);
}

static void switch_was_killed(struct fake_usb *u)
{
        tree_write(
                "PID=1\nBUSNUM=9\nDEVNUM=9\nFROM=uas\nTO=usb-storage\nSTEP=sync\nDISKS=1\nMOVED=0\n",
                "run/uasd/switch/2-1:1.0");
}

static const struct {
        const char *what;
        struct scene s;
        bool runs_on; /* a LUN did not stop */
} good[] = {
        /* clang-format off */
        {"usb-storage", {.from = BOT, .partitions = 2}, false},
        {"uas", {.from = UAS, .partitions = 2}, false},
        {"two LUNs", {.from = UAS, .luns = 2, .partitions = 1}, false},
        {"opens are counted", {.from = UAS, .counts = true, .partitions = 2}, false},
        {"an empty slot", {.from = BOT, .luns = 2, .partitions = 1, .slot = true}, false},
        {"one of two", {.from = BOT, .partitions = 1, .bystander = true}, false},
        {"a disk behind a hub at another port", {.from = UAS, .partitions = 1, .prepare = similar_ports}, false},
        {"a killed switch", {.from = UAS, .partitions = 1, .prepare = switch_was_killed}, false},
        {"udev looks at it", {.from = UAS, .partitions = 1, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_GLANCE}}}, false},
        {"udev's worker reads it", {.from = UAS, .partitions = 1, .prepare = udev_reads_it, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, false},
        {"udisks reads it", {.from = UAS, .partitions = 1, .prepare = udisks_reads_it, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, false},
        {"udev's worker comes late", {.from = UAS, .partitions = 1, .prepare = udev_reads_it, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_OPEN}}}, false},
        {"written to before", {.from = UAS, .partitions = 1, .prepare = was_written}, false},
        {"written to during the sync", {.from = UAS, .partitions = 1, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_WRITE}}}, false},
        {"written to after the sync", {.from = UAS, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_WRITE}}}, false},
        {"its names cannot be read", {.from = BOT, .partitions = 1, .prepare = strings_hang}, false},
        {"it does not stop", {.from = BOT, .partitions = 1, .hooks = {{.op = "stop", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, true},
        /* clang-format on */
};

static const char *not_ejected(const struct scene *s, const struct result *r, bool runs_on)
{
        const struct fake_usb *u = &fake->usb[0];

        if (r->code != UASD_EXIT_OK || u->plugged || !u->removed)
                return "it is still there";
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (streq(fake->ops[i], "ask pid1"))
                        return "it asked whether the machine goes down, which does not matter";
        for (unsigned l = 0; l < u->n_luns - s->slot; l++) {
                if (u->luns[l].platter !=
                    4096 * (s->partitions + 1) + (l == 0 && fake->written_late))
                        return "not every byte is there";
                if (u->luns[l].stopped == runs_on)
                        return "the drive has not stopped";
        }
        return NULL;
}

static void test_good(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct scene s = good[i].s;
                const char *wrong, *also;
                struct result r;

                s.eject = true;
                scene_make(&s);
                scene_switch(&s, &r);
                also = not_ejected(&s, &r, good[i].runs_on);
                wrong = scene_wrong(&s);
                if (wrong || also) {
                        print_error("%s: %s; %s (%i at %s: %s)\n", good[i].what, wrong ?: "-",
                                    also ?: "-", r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

static const struct {
        const char *what;
        struct scene s;
        int code;
        const char *step, *text; /* text: its beginning */
} refused[] = {
        /* clang-format off */
        {"mounted", {.from = UAS, .partitions = 1, .prepare = mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sda1 at /mnt/sda1"},
        {"one of two LUNs is mounted", {.from = UAS, .luns = 2, .partitions = 1, .prepare = mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sdb1 at /mnt/sdb1"},
        {"mounted in another namespace", {.from = BOT, .partitions = 1, .prepare = mounted_elsewhere}, UASD_EXIT_DEFERRED, "stop", "in use: a mount or a program has claimed sda"},
        {"open", {.from = BOT, .partitions = 1, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, UASD_EXIT_DEFERRED, "claim", "in use: open of sda by x"},
        {"udev's worker hangs", {.from = UAS, .partitions = 1, .prepare = udev_never_ends, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_OPEN}}}, UASD_EXIT_DEFERRED, "claim", "in use: open of sda by (udev-worker)"},
        {"its sg node is open", {.from = UAS, .counts = true, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_OPEN_SG}}}, UASD_EXIT_DEFERRED, "claim", "in use: open of sg0 by x"},
        {"mounted while it waits for a reader", {.from = UAS, .prepare = udev_reads_it, .hooks = {{.op = "open sda", .nth = 2, .what = HOOK_OPEN}, {.op = "wait", .nth = 1, .what = HOOK_MOUNT}}}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sda at"},
        {"mounted during the sync", {.from = UAS, .partitions = 1, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_MOUNT}}}, UASD_EXIT_DEFERRED, "sync", "in use: mount of sda1"},
        {"it cannot be synced", {.from = UAS, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, UASD_EXIT_FAILED, "sync", "sda cannot be synced: Input/output error; it stays on its driver"},
        {"the device has another function", {.from = UAS, .prepare = other_interface}, UASD_EXIT_REFUSED, "begin", "the USB device has other interfaces, which would go as well"},
        {"usbfs has it", {.from = UAS, .prepare = of_another}, UASD_EXIT_REFUSED, "begin", "the interface belongs to usbfs"},
        {"it has no LUN yet", {.from = UAS, .prepare = spins_up}, UASD_EXIT_DEFERRED, "begin", "the kernel is still looking for its disk"},
        {"no record", {.from = UAS, .hooks = {{.op = "write record", .nth = 1, .what = HOOK_FAIL, .error = ENOSPC}}}, UASD_EXIT_FAILED, "begin", "cannot write the record: No space left on device"},
        {"it cannot be read", {.from = UAS, .hooks = {{.op = "read disk", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, UASD_EXIT_FAILED, "begin", "cannot read 2-1:1.0: Input/output error"},
        {"the kernel refuses", {.from = UAS, .partitions = 1, .hooks = {{.op = "remove", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, UASD_EXIT_FAILED, "remove", "the kernel does not remove it: Input/output error"},
        {"a LUN appears", {.from = UAS, .luns = 2, .partitions = 1, .hooks = {{.op = "read luns", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, UASD_EXIT_DEFERRED, "remove", "a block device is there, or may be, that is not claimed"},
        {"unplugged", {.from = UAS, .partitions = 1, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_UNPLUG}}}, UASD_EXIT_NO_DISK, "", "the disk was unplugged"},
        /* clang-format on */
};

static void test_refused(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                struct scene s = refused[i].s;
                const char *wrong;
                struct result r;
                uint64_t began;

                s.eject = true;
                scene_make(&s);
                began = fake->clock;
                scene_switch(&s, &r);
                wrong = fake->clock - began > 7 * USEC_PER_SEC ? "it took too long"
                        : refused[i].s.prepare == spins_up     ? NULL
                                                               : scene_wrong(&s);
                if (wrong || strncmp(r.text, refused[i].text, strlen(refused[i].text)) != 0 ||
                    r.code != refused[i].code ||
                    (*refused[i].step && !streq(r.step, refused[i].step)) || fake->usb[0].removed ||
                    (r.code != UASD_EXIT_NO_DISK && !fake->usb[0].plugged)) {
                        print_error("%s: %s (%i at %s: %s)\n", refused[i].what, wrong ?: "-",
                                    r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* Another switch has the lock of the disk until the descriptor is closed. */
static int switch_under_way(void)
{
        int fd;

        tree_write("", "run/uasd/switch/2-1:1.0.lock");
        fd = openat(fake->roots.run, "uasd/switch/2-1:1.0.lock", O_RDWR | O_CLOEXEC);
        assert_int_equal(switch_lock_take(fd, SWITCH_LOCK), 0);
        return fd;
}

/* A switch that is under way ends first. One that hangs does not keep the caller waiting forever.
 */
static void test_waits(void **state)
{
        static const struct scene s = {.from = UAS, .partitions = 1, .eject = true};
        uint64_t before;
        struct result r;
        int fd;

        scene_make(&s);
        fd = switch_under_way();
        before = fake->clock;
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "begin");
        assert_string_equal(r.text, "another switch of this disk is under way");
        assert_true(fake->clock - before >= 120 * USEC_PER_SEC);
        assert_int_equal(fake->usb[0].touched, 0);
        (void) close(fd);
        scene_switch(&s, &r);
        assert_null(not_ejected(&s, &r, false));
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* In the middle of a switch the disk has no LUN. That is no reason to give up. */
static void test_waits_in_the_middle(void **state)
{
        static const struct scene s = {.from = UAS, .partitions = 1, .eject = true};
        uint64_t before;
        struct result r;
        int fd;

        scene_make(&s);
        fd = switch_under_way();
        tree_lun_gone(&fake->usb[0], 0);
        before = fake->clock;
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_true(fake->clock - before >= 120 * USEC_PER_SEC);
        (void) close(fd);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.text, "the kernel is still looking for its disk");
        assert_int_equal(fake->usb[0].touched, 0);
        scene_remove();
}

/* At every operation a process uses the disk, the user unplugs it, or uasd-switch dies. */
static void test_every_operation(void **state)
{
        static const enum fake_what whats[] = {HOOK_MOUNT,  HOOK_MOUNT_PRIVATE, HOOK_OPEN,
                                               HOOK_GLANCE, HOOK_WRITE,         HOOK_CARD,
                                               HOOK_UNPLUG, HOOK_KILL,          HOOK_KILL_DONE};
        static const struct scene scenes[] = {
                {.from = BOT, .partitions = 1, .counts = true, .eject = true},
                {.from = UAS, .luns = 2, .partitions = 1, .eject = true}};
        unsigned played = 0;
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes) * ELEMENTSOF(whats); i++) {
                enum fake_what what = whats[i % ELEMENTSOF(whats)];
                struct scene s = scenes[i / ELEMENTSOF(whats)];
                struct result r = {};
                bool dies = what == HOOK_KILL || what == HOOK_KILL_DONE, more = true;

                for (unsigned n = 1; more; n++) {
                        const char *wrong;

                        s.hooks[0] = (struct fake_hook){.nth = n, .what = what};
                        scene_make(&s);
                        if (dies)
                                scene_switch_in_child(&s, &r);
                        else
                                scene_switch(&s, &r);
                        more = fake->n_ops >= n;
                        if (dies && r.code < 0)
                                assert_int_equal(scene_recover(&s), 0);
                        wrong = scene_wrong(&s);
                        if (!wrong && r.code == UASD_EXIT_OK && !fake->usb[0].removed)
                                wrong = "it is still there";
                        if (!wrong && r.code > 0 && fake->usb[0].removed)
                                wrong = "it has gone, but says that it failed";
                        if (wrong) {
                                print_error(
                                        "scene %zu, %i after operation %u (%s): %s (%i at %s: %s)\n",
                                        i / ELEMENTSOF(whats), what, n,
                                        n <= fake->n_ops ? fake->ops[n - 1] : "-", wrong, r.code,
                                        r.step, r.text);
                                all = false;
                        }
                        played++;
                        scene_remove();
                }
        }
        assert_true(all);
        assert_true(played > 300);
}

/* Until the drive is stopped, a signal ends it at once. From then on it finishes. */
static void test_signals(void **state)
{
        static const struct {
                const char *op;
                bool ejects;
        } table[] = {
                {"write record", false}, {"open sda", false},  {"sync sda", false},
                {"stop sda", true},      {"remove 2-1", true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct scene s = {.from = UAS, .partitions = 1, .eject = true, .signals = true};
                struct result r = {};
                unsigned at = 0;

                s.hooks[0] = (struct fake_hook){
                        .op = table[i].op, .nth = 1, .what = HOOK_SIGNAL, .error = SIGTERM};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, table[i].ejects ? UASD_EXIT_OK : UASD_EXIT_DEFERRED);
                assert_int_equal(fake->usb[0].removed, table[i].ejects);
                while (strncmp(fake->ops[at], table[i].op, strlen(table[i].op)) != 0)
                        at++;
                if (!table[i].ejects &&
                    i > 0) /* the first step looks at the signals when it is over */
                        assert_int_equal(fake->n_ops, at + 1);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_good),
                                           cmocka_unit_test(test_refused),
                                           cmocka_unit_test(test_signals),
                                           cmocka_unit_test(test_waits),
                                           cmocka_unit_test(test_waits_in_the_middle),
                                           cmocka_unit_test(test_every_operation)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
