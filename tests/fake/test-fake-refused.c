/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <fcntl.h>
#include <sys/file.h>
#include <cmocka.h>

#include "play.h"
#include "sys/io/statefile.h"
#include "sys/state/switch-record.h"

/* Switches that do not begin, and switches that are rolled back: how each of them ends. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS
#define FAIL(name, number, e)                                                                      \
        {                                                                                          \
                {                                                                                  \
                        .op = name, .nth = number, .what = HOOK_FAIL, .error = e                   \
                }                                                                                  \
        }

static void mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[0].nodes[1].name, true), 0);
}

static void mounted_elsewhere(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[0].nodes[1].name, false), 0);
}

static void lun_spins_up(struct fake_usb *u, unsigned lun)
{
        tree_lun_gone(u, lun);
        u->luns[lun].there = false;
        u->luns[lun].probing = true;
        u->spun_at = fake->clock + 60 * USEC_PER_SEC;
        tree_scsi(u, lun);
}

static void spins_up(struct fake_usb *u)
{
        lun_spins_up(u, 0);
}

static void second_spins_up(struct fake_usb *u)
{
        lun_spins_up(u, 1);
}

static void udev_locks(struct fake_usb *u)
{
        fake->udev_locks = true;
}

static void no_uas(struct fake_usb *u)
{
        fake->uas_loaded = fake->uas_loadable = false;
        tree_remove("sys/bus/usb/drivers/uas");
}

static void no_lock(struct fake_usb *u)
{
        tree_write("", "run/uasd/switch/2-1:1.0.lock/a folder"); /* cannot be opened for writing */
}

static void stopping(struct fake_usb *u)
{
        fake->stopping = true;
}

static void speaks_uas_alone(struct fake_usb *u)
{
        u->bot = false;
        tree_plug(u);
}

static void speaks_bot_alone(struct fake_usb *u)
{
        u->uas = false;
        tree_plug(u);
}

static void of_another(struct fake_usb *u)
{
        u->driver = DRIVER_OTHER;
        tree_driver(u);
        u->driver = BOT;
}

static void unauthorized(struct fake_usb *u)
{
        u->authorized = false;
        tree_plug(u);
}

static void pulled_out(struct fake_usb *u)
{
        kernel_unplug(u);
}

static void silent_on_uas(struct fake_usb *u)
{
        u->silent_on_uas = fake->haste = true;
}

/* Under its former driver it spins up. */
static void silent_on_uas_and_spins_up(struct fake_usb *u)
{
        u->silent_on_uas = true;
        u->spun_at = fake->clock + (30 + 28) * USEC_PER_SEC;
}

static void silent_on_bot(struct fake_usb *u)
{
        u->silent_on_bot = fake->haste = true;
}

static void udev_deaf(struct fake_usb *u)
{
        fake->udev_deaf = fake->haste = true;
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

static void no_socket(struct fake_usb *u)
{
        fake->no_sockets = 1;
}

static void unnamed(struct fake_usb *u)
{
        fake->unnamed = true;
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void read_by_uasd(struct fake_usb *u)
{
        stalls(u);
        fake->unit = "uasd.service";
}

static void read_by_another(struct fake_usb *u)
{
        stalls(u);
        fake->unit = "backup.service";
}

static void begun_in_a_shell(struct fake_usb *u)
{
        stalls(u);
        fake->unit = "session-1.scope";
        fake->own = true;
}

/* usb-storage shows no disk for so long. */
static void delay_use(const char *seconds)
{
        fake->delay_use = strtoul(seconds, NULL, 10) * USEC_PER_SEC;
        tree_write(seconds, "sys/module/usb_storage/parameters/delay_use");
}

static void stalls_and_waits(struct fake_usb *u)
{
        stalls(u);
        delay_use("40");
        fake->haste = true;
}

static void waits(struct fake_usb *u)
{
        delay_use("16");
}

static void loses_a_lun(struct fake_usb *u)
{
        u->missing_on_uas = 1;
        fake->haste = true;
}

#define FULL_QUIRKS                                                                                        \
        "1111:1111:u,2222:2222:u,3333:3333:u,4444:4444:u,5555:5555:u,6666:6666:u,7777:7777:u,8888:8888:u," \
        "9999:9999:u,aaaa:aaaa:u"

static const struct {
        const char *what;
        struct scene s;
        int code;
        const char *step, *text; /* text: its beginning */
        enum driver driver;
        bool touched;
} bad[] = {
        /* clang-format off */
        /* no user is disturbed, the disk is not touched */
        {"mounted", {BOT, UAS, .partitions = 1, .prepare = mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sda1 at /mnt/sda1", BOT},
        {"mounted, counted", {BOT, UAS, .partitions = 1, .prepare = mounted, .counts = true}, 3, "claim", "in use: mount of sda1 at /mnt/sda1", BOT},
        {"mounted out of sight", {UAS, BOT, .partitions = 1, .prepare = mounted_elsewhere}, 3, "delete", "in use: a mount or a program has claimed sda", UAS},
        {"open since long", {BOT, UAS, .hooks = {{.op = "lock", .nth = 1, .what = HOOK_OPEN}}}, 3, "claim", "in use: open of sda by x", BOT},
        {"the same, counted", {BOT, UAS, .counts = true, .hooks = {{.op = "lock", .nth = 1, .what = HOOK_OPEN}}}, 3, "claim", "in use: open of sda by x", BOT},
        {"opened while it is synced", {BOT, UAS, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_OPEN}}}, 3, "sync", "in use: open of sda by x", BOT},
        {"opened and written to while it is synced", {BOT, UAS, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_WRITE}, {.op = "sync", .nth = 1, .what = HOOK_OPEN}}}, 3, "sync", "in use: open of sda by x", BOT},
        {"a file system writes at the last moment", {BOT, UAS, .hooks = {{.op = "events", .nth = 1, .what = HOOK_FS_WRITES}}}, 3, "delete", "a program keeps writing to the disk", BOT},
        {"opened at the last moment", {UAS, BOT, .hooks = {{.op = "events", .nth = 1, .what = HOOK_OPEN}}}, 3, "delete", "in use: open of sda by x", UAS},
        {"the same, by a program that cannot be named", {BOT, UAS, .counts = true, .prepare = unnamed, .hooks = {{.op = "events", .nth = 1, .what = HOOK_OPEN}}}, 3, "delete", "in use: a program that cannot be named has the disk open", BOT},
        /* The rest of the hold is for another try. */
        {"opened at the last moment, under a hold", {BOT, UAS, .partitions = 1, .automatic = true, .held = true, .hooks = {{.op = "events", .nth = 1, .what = HOOK_OPEN}}}, 3, "delete", "in use: open of sda by x", BOT},
        {"the hold is shorter than the new driver waits", {UAS, BOT, .automatic = true, .held = true, .prepare = waits}, 3, "delete", "too little is left of the hold for a switch and its undo", UAS},
        {"another program opens it during each search", {BOT, UAS, .hooks = {{.op = "users", .what = HOOK_GLANCE}}}, 3, "sync", "a program keeps opening the disk", BOT},
        {"another program opens it at each claim", {BOT, UAS, .hooks = {{.op = "open sda", .nth = 2, .on = true, .what = HOOK_GLANCE}}}, 3, "delete", "a program keeps opening the disk", BOT},
        {"another medium after it was read", {BOT, UAS, .hooks = {{.op = "fingerprint", .nth = 1, .what = HOOK_MEDIUM}}}, 3, "delete", "a medium was put in or taken out, or partitions were read again", BOT},
        {"another medium at each open", {BOT, UAS, .hooks = {{.op = "open sda", .what = HOOK_MEDIUM}}}, 3, "claim", "its media or partitions keep changing", BOT},
        {"it spins up", {BOT, UAS, .prepare = spins_up}, 3, "claim", "the kernel is still probing it: it has no block device yet", BOT},
        {"its first LUN spins up", {BOT, UAS, .luns = 2, .prepare = spins_up}, 3, "claim", "the kernel is still probing it: it has no block device yet", BOT},
        {"one LUN of it spins up", {BOT, UAS, .luns = 2, .prepare = second_spins_up}, 3, "claim", "the kernel is still probing it: it has no block device yet", BOT},
        {"PID 1 does not start the timer", {BOT, UAS, .plugged = true, .hooks = FAIL("arm timer", 1, ETIMEDOUT)}, 3, "delete", "PID 1 does not start the timer that would end a hold", BOT},
        {"the lock of the quirks is kept", {UAS, BOT, .hooks = {{.op = "fingerprint", .nth = 1, .what = HOOK_LOCK}}}, 3, "prepare", "a program keeps the lock of the quirks parameter", UAS},
        {"cannot be claimed", {BOT, UAS, .hooks = FAIL("open sda", 2, EIO)}, UASD_EXIT_FAILED, "delete", "cannot claim sda: Input/output error", BOT},
        {"udev keeps its lock", {BOT, UAS, .prepare = udev_locks}, 3, "claim", "a program keeps the lock on sda", BOT},
        {"claimed between two opens", {BOT, UAS, .hooks = FAIL("open sda", 1, EBUSY)}, 3, "claim", "in use: a mount or a program has claimed sda", BOT},
        {"the machine goes down", {BOT, UAS, .automatic = true, .prepare = stopping}, 3, "delete", "the machine is going down", BOT},
        {"PID 1 cannot be reached", {BOT, UAS, .hooks = FAIL("pid1", 1, EAGAIN)}, UASD_EXIT_DEFERRED, "delete", "PID 1 does not say whether the machine is going down: Resource temporarily unavailable", BOT},
        {"PID 1 cannot be asked", {BOT, UAS, .hooks = FAIL("ask pid1", 1, EIO)}, UASD_EXIT_DEFERRED, "delete", "PID 1 does not say whether the machine is going down: Input/output error", BOT},
        {"PID 1 does not answer", {UAS, BOT, .hooks = FAIL("answer of pid1", 1, ETIMEDOUT)}, UASD_EXIT_DEFERRED, "delete", "PID 1 does not say whether the machine is going down: Connection timed out", UAS},
        {"not a disk", {BOT, UAS, .prepare = pulled_out}, UASD_EXIT_NO_DISK, "identify", "there is no USB storage interface 2-1:1.0", BOT},
        {"no way back", {UAS, BOT, .prepare = speaks_uas_alone}, UASD_EXIT_INCAPABLE, "identify", "this disk speaks UAS alone: usb-storage cannot drive it", UAS},
        {"no UAS", {BOT, UAS, .prepare = speaks_bot_alone}, UASD_EXIT_INCAPABLE, "identify", "this disk does not offer UAS completely", BOT},
        {"another's", {BOT, UAS, .prepare = of_another}, UASD_EXIT_REFUSED, "identify", "the interface belongs to usbfs", BOT},
        {"not authorized", {BOT, UAS, .prepare = unauthorized}, UASD_EXIT_REFUSED, "identify", "the USB device is not authorized", BOT},
        {"not known who uses it", {BOT, UAS, .hooks = FAIL("users", 1, EIO)}, UASD_EXIT_FAILED, "claim", "cannot find out who uses the disk: Input/output error", BOT},
        {"no record", {BOT, UAS, .hooks = FAIL("write record", 1, ENOSPC)}, UASD_EXIT_FAILED, "record", "cannot write the record of the switch: No space left on device", BOT},
        {"no lock", {BOT, UAS, .prepare = no_lock}, UASD_EXIT_FAILED, "record", "cannot write the record of the switch: Is a directory", BOT},
        {"it is no disk any more", {BOT, UAS, .hooks = {{.op = "read disk", .nth = 2, .what = HOOK_SKIP}}}, UASD_EXIT_FAILED, "claim", "cannot open sda: No such device", BOT},
        {"it is no disk at the end", {BOT, UAS, .hooks = {{.op = "read disk", .nth = 3, .what = HOOK_SKIP}}}, UASD_EXIT_FAILED, "delete", "cannot read 2-1:1.0: No such device", BOT},
        {"it cannot be put on record before uas loads", {DRIVER_NONE, UAS, .unloaded = true, .hooks = FAIL("lock", 2, EIO)}, 3, "detach", "its trial cannot be put on record: Input/output error", DRIVER_NONE},
        {"cannot be opened", {BOT, UAS, .hooks = FAIL("open sda", 1, EIO)}, UASD_EXIT_FAILED, "claim", "cannot open sda: Input/output error", BOT},
        {"a partition cannot be synced", {UAS, BOT, .partitions = 2, .hooks = FAIL("sync sda2", 1, EIO)}, UASD_EXIT_FAILED, "sync", "sda2 cannot be synced: Input/output error; it stays on its driver", UAS},
        {"the drive of two cannot be flushed", {UAS, BOT, .luns = 2, .hooks = FAIL("sync sdb", 1, EIO)}, UASD_EXIT_FAILED, "sync", "sdb cannot be synced: Input/output error; it stays on its driver", UAS},
        {"the drive cannot be flushed", {UAS, BOT, .hooks = FAIL("sync sda", 1, EIO)}, UASD_EXIT_FAILED, "sync", "sda cannot be synced: Input/output error; it stays on its driver", UAS},
        {"cannot be read", {BOT, UAS, .hooks = FAIL("fingerprint", 1, EIO)}, UASD_EXIT_FAILED, "fingerprint", "cannot read the disk: Input/output error", BOT},
        {"the disk cannot be watched", {BOT, UAS, .hooks = FAIL("inotify", 1, EMFILE)}, UASD_EXIT_FAILED, "claim", "cannot open 2-1:1.0: Too many open files", BOT},
        {"no module", {BOT, UAS, .prepare = no_uas}, UASD_EXIT_FAILED, "prepare", "the module uas cannot be loaded: this kernel has none", BOT},
        {"an install line", {BOT, UAS, .hooks = FAIL("module", 1, EPERM)}, UASD_EXIT_FAILED, "prepare", "the module uas cannot be loaded: modprobe.d has an install line for it", BOT},
        {"on a blacklist", {BOT, UAS, .hooks = FAIL("module", 1, EACCES)}, UASD_EXIT_FAILED, "prepare", "the module uas cannot be loaded: modprobe.d blacklists it: load it by hand, or remove that", BOT},
        {"no memory for the module", {BOT, UAS, .hooks = FAIL("module", 1, ENOMEM)}, UASD_EXIT_FAILED, "prepare", "the module uas cannot be loaded: Cannot allocate memory", BOT},
        {"no room for a quirk", {UAS, BOT, .quirks = FULL_QUIRKS}, UASD_EXIT_FAILED, "prepare", "the quirks parameter of usb_storage has no room for 1209:5a5a:u", UAS},
        {"no quirks parameter", {UAS, BOT, .hooks = FAIL("read quirks", 2, ENOENT)}, UASD_EXIT_FAILED, "prepare", "cannot read the quirks parameter: No such file or directory", UAS},

        /* tried, and rolled back */
        {"a LUN does not go", {UAS, BOT, .luns = 2, .hooks = FAIL("delete 0:0:0:1", 1, EIO)}, 7, "delete", "cannot take 0:0:0:1 away: Input/output error", UAS, true},
        {"the driver does not let go", {UAS, BOT, .hooks = FAIL("unbind", 1, EIO)}, 7, "unbind", "uas does not let go: Input/output error", UAS, true},
        {"it lets go with an error", {UAS, BOT, .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_FAIL_DONE, .error = EIO}}}, 7, "unbind", "uas does not let go: Input/output error", UAS, true},
        {"the dead man's timer fires", {BOT, UAS, .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_RESCUE}}}, UASD_EXIT_FAILED, "bind", "it took too long, and the disk was given to any driver meanwhile", UAS, true},
        {"the quirks cannot be read again", {UAS, BOT, .hooks = FAIL("read quirks", 3, EIO)}, 7, "bind", "usb-storage does not take it: Input/output error", UAS, true},
        {"the quirk does not go in", {UAS, BOT, .hooks = FAIL("quirks", 1, ENOSPC)}, 7, "bind", "usb-storage does not take it: No space left on device", UAS, true},
        {"declined", {BOT, UAS, .hooks = FAIL("bind uas", 1, ENODEV)}, 7, "bind", "uas does not take it: No such device", BOT, true},
        {"it says that it took it, and did not", {BOT, UAS, .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_SKIP}}}, 7, "bind", "uas does not take it: No such device", BOT, true},
        {"bound with an error", {BOT, UAS, .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_FAIL_DONE, .error = EIO}}}, 7, "bind", "uas does not take it: Input/output error", BOT, true},
        {"silent on uas", {BOT, UAS, .prepare = silent_on_uas}, 7, "appear", "no disk appeared under uas in time", BOT, true},
        {"another program takes it off uas", {BOT, UAS, .hooks = {{.op = "wait", .nth = 1, .what = HOOK_UNBIND}}}, 7, "appear", "the disk did not come back under uas: No such device", BOT, true},
        /* There and back once. A silent udev must not make it bind again and again. */
        {"udev answers nothing", {BOT, UAS, .partitions = 1, .prepare = udev_deaf}, UASD_EXIT_ROLLED_BACK, "appear", "udev was not done with the disk under uas in time", BOT, true},
        {"silent on uas, and spins up on the way back", {BOT, UAS, .prepare = silent_on_uas_and_spins_up}, 7, "appear", "no disk appeared under uas in time", BOT, true},
        {"silent on uas, two LUNs", {BOT, UAS, .luns = 2, .prepare = silent_on_uas}, 7, "appear", "no disk appeared under uas in time", BOT, true},
        {"silent on usb-storage", {UAS, BOT, .prepare = silent_on_bot}, 7, "appear", "no disk appeared under usb-storage in time", UAS, true},
        {"a LUN less", {BOT, UAS, .luns = 2, .prepare = loses_a_lun}, 7, "appear", "no disk appeared under uas in time", BOT, true},
        {"another disk shows", {BOT, UAS, .prepare = garbles}, 7, "verify", "under uas another disk shows: before LUN0_CONTENT=17, now LUN0_CONTENT=18: Structure needs cleaning", BOT, true},
        {"stalls at full depth", {BOT, UAS, .prepare = stalls}, 7, "verify", "under uas reads at full depth are not answered in time: Connection timed out", BOT, true},
        {"stalls, and uasd has begun the switch", {BOT, UAS, .prepare = read_by_uasd}, 7, "verify", "under uas reads at full depth are not answered in time", BOT, true},
        {"stalls, and a user has begun the switch in a shell", {BOT, UAS, .prepare = begun_in_a_shell}, 7, "verify", "under uas reads at full depth are not answered in time", BOT, true},
        {"stalls, and another service reads it", {BOT, UAS, .prepare = read_by_another}, UASD_EXIT_FAILED, "verify", "under uas reads at full depth are not answered in time: Connection timed out; it is in use already, and stays", UAS, true},
        {"stalls, and the former driver waits", {BOT, UAS, .prepare = stalls_and_waits}, 7, "verify", "under uas reads at full depth are not answered in time: Connection timed out", BOT, true},
        {"stalls, under a hold", {BOT, UAS, .partitions = 1, .automatic = true, .held = true, .prepare = stalls}, 7, "verify", "under uas reads at full depth are not answered in time: Connection timed out", BOT, true},
        {"cannot be read on either driver", {UAS, BOT, .hooks = {{.op = "fingerprint", .what = HOOK_FAIL, .error = EIO}}}, 7, "verify", "under usb-storage the disk cannot be read: Input/output error", UAS, true},
        {"cannot be read on uas", {BOT, UAS, .hooks = FAIL("fingerprint", 2, EIO)}, 7, "verify", "under uas the disk cannot be read: Input/output error", BOT, true},
        {"it cannot be examined", {BOT, UAS, .prepare = no_socket}, 7, "verify", "no child: Too many open files", BOT, true},
        {"written to before it could be tried", {BOT, UAS, .prepare = garbles, .hooks = {{.op = "open sda", .nth = 3, .what = HOOK_FS_WRITES}}}, 0, "release", "", UAS, true},
        {"in use before it could be tried", {BOT, UAS, .partitions = 1, .hooks = {{.op = "write record", .nth = 10, .what = HOOK_MOUNT}}}, 0, "release", "", UAS, true},

        /* rolled back, with trouble */
        {"the way back fails once", {BOT, UAS, .prepare = silent_on_uas, .hooks = FAIL("bind usb-", 1, EIO)}, 7, "appear", "no disk appeared under uas in time", BOT, true},
        {"the way back is shut", {BOT, UAS, .prepare = garbles, .hooks = FAIL("bind usb-", 0, EIO)}, UASD_EXIT_FAILED, "verify", "under uas another disk shows: before LUN0_CONTENT=17, now LUN0_CONTENT=18: Structure needs cleaning; it did not go back", UAS, true},
        {"neither takes it at first", {UAS, BOT, .hooks = {{.op = "bind usb-", .nth = 1, .what = HOOK_FAIL, .error = EIO}, {.op = "bind uas", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, 7, "bind", "usb-storage does not take it: Input/output error", UAS, true},
        /* clang-format on */
};

static void test_bad(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                const struct scene *s = &bad[i].s;
                const struct fake_usb *u;
                struct result r;
                const char *wrong;
                bool good;

                scene_make(s);
                u = &fake->usb[0];
                scene_switch(s, &r);
                wrong = u->touched || !s->held ? scene_held() : NULL;
                if (!wrong && s->held && r.code == UASD_EXIT_DEFERRED && !scene_held())
                        wrong = "its hold has ended";
                if (!wrong && bad[i].code == UASD_EXIT_ROLLED_BACK && u->luns[0].letter != 0)
                        wrong = "sda has come back under another name";
                if (!wrong && u->unbound > 2)
                        wrong = "it was bound again and again";
                if (!wrong && !u->spun_at && s->from != DRIVER_NONE)
                        wrong = scene_wrong(s);
                good = r.code == bad[i].code && streq(r.step, bad[i].step) &&
                       strncmp(r.text, bad[i].text, strlen(bad[i].text)) == 0 &&
                       (!u->plugged || u->driver == bad[i].driver) &&
                       bad[i].touched == (u->touched > 0);
                if (wrong || !good) {
                        print_error("%s: %s; on %s, code %i at %s: %s\n", bad[i].what,
                                    wrong ? wrong : "-", driver_to_string(u->driver), r.code,
                                    r.step, r.text);
                        scene_print_ops();
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* Another uasd-switch runs: its record and its disk belong to it. */
static void test_locked(void **state)
{
        static const struct scene s = {BOT, UAS};
        struct result r;
        char path[96];
        int fd;

        scene_make(&s);
        tree_write("PID=1\n", "run/uasd/switch/2-1:1.0");
        (void) snprintf(path, sizeof(path), "%s/run/uasd/switch/2-1:1.0.lock", fake->path);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && switch_lock_take(fd, SWITCH_LOCK) == 0);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "record");
        assert_string_equal(r.text, "another switch of this disk is under way");
        assert_int_equal(fake->usb[0].touched, 0);
        assert_true(tree_exists("run/uasd/switch/2-1:1.0"));
        assert_int_equal(scene_recover(&s), -EALREADY);
        assert_true(tree_exists("run/uasd/switch/2-1:1.0"));
        (void) close(fd);
        tree_remove("run/uasd/switch/2-1:1.0");
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* No switch begins under a hold that is almost over. */
static void test_late(void **state)
{
        static const struct scene s = {BOT, UAS, .automatic = true, .held = true,
                                       .hooks = {{.op = "fingerprint", .nth = 1}}};
        struct result r;

        scene_make(&s);
        fake->haste = true;
        fake->hooks[0] =
                (struct fake_hook){.op = "fingerprint", .nth = 1, .what = HOOK_WAIT, .error = 16};
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "delete");
        assert_int_equal(fake->usb[0].touched, 0);
        assert_null(scene_wrong(&s));
        scene_remove();
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad),
                                           cmocka_unit_test(test_locked),
                                           cmocka_unit_test(test_late)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
