/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which disks are held, and which are switched, in an initramfs (the temporary folder is one), and
 * in coldplug. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../patience.h"
#include "../sys/tree.h"
#include "common/exit-codes.h"
#include "common/util.h"
#include "hold/early.h"
#include "hold/hold.h"
#include "hold/settle.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

#define IN_USE "23 22 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"
#define ON_UAS "../../../../../bus/usb/drivers/uas"
#define ON_BOT "../../../../../bus/usb/drivers/usb-storage"

static void make(struct tree *t)
{
        tree_make(t);
        tree_write(t, "etc/uasd/initramfs", "");
}

static void config(struct tree *t, const char *line)
{
        char text[64];

        (void) snprintf(text, sizeof(text), "[uasd]\n%s\n", line);
        tree_write(t, "etc/uasd/uasd.conf", text);
}

static void attachment(struct tree *t, bool tried, bool released, bool cancelled)
{
        const struct attachment_mark m = {
                .tried = tried, .released = released, .cancelled = cancelled};

        assert_int_equal(attachment_change(&t->roots, tree_facts(t), MARK_ALL, &m), 0);
}

static int no_arm(const char *interface)
{
        fail_msg("there is no PID 1 to keep a timer");
        return 0;
}

static bool held(struct tree *t, const char *action, const char *devtype, const char *block)
{
        struct hold_answer a = {.hold = false};

        assert_int_equal(
                hold_decide(&t->roots, &(struct block_event){block, action, devtype}, no_arm, &a),
                0);
        return a.hold;
}

static void test_held(void **state)
{
        struct tree t;

        make(&t);
        assert_true(held(&t, "add", "disk", "sda"));
        assert_true(held(&t, "add", "partition", "sda1"));
        assert_true(held(&t, "change", "disk", "sda"));
        assert_false(tree_exists(
                &t, "run/uasd/hold/" TREE_INTERFACE));      /* nothing for the root file system */
        tree_unlink(&t, "run/systemd/generator/uasd-hold"); /* nor is there a generator */
        assert_true(held(&t, "add", "disk", "sda"));
        tree_unlink(&t, TREE_DIR "/driver");
        tree_link(&t, TREE_DIR "/driver", ON_UAS);
        assert_false(held(&t, "add", "disk", "sda")); /* it is on the right driver */
        config(&t, "Policy=usb-storage");
        assert_true(held(&t, "add", "disk", "sda"));
        tree_remove(&t);
}

static void waited_for(struct tree *t)
{
        tree_write(t, "run/uasd/waited-for", "");
}
static void off(struct tree *t)
{
        tree_write(t, "proc/cmdline", "rd.uasd=off\n");
}
static void no_hold(struct tree *t)
{
        tree_write(t, "proc/cmdline", "quiet rd.uasd.hold=0\n");
}
static void off_everywhere(struct tree *t)
{
        tree_write(t, "proc/cmdline", "uasd=off\n");
}
static void hold_sec_0(struct tree *t)
{
        config(t, "HoldSec=0");
}
static void tried(struct tree *t)
{
        attachment(t, true, false, false);
}
static void released(struct tree *t)
{
        attachment(t, false, true, false);
}
static void cancelled(struct tree *t)
{
        attachment(t, false, false, true);
}
static void in_use(struct tree *t)
{
        tree_write(t, "proc/1/mountinfo", IN_USE);
}
static void quirk(struct tree *t)
{
        tree_write(t, "sys/module/usb_storage/parameters/quirks", "1209:5a5a:u\n");
}
static void ignored(struct tree *t)
{
        config(t, "Policy=ignore");
}

static void (*const not_held[])(struct tree *t) = {
        waited_for, off,       no_hold, off_everywhere, hold_sec_0, tried,
        released,   cancelled, in_use,  quirk,          ignored,
};

static void test_held_not(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(not_held); i++) {
                struct tree t;

                make(&t);
                not_held[i](&t);
                if (held(&t, "add", "disk", "sda"))
                        fail_msg("row %zu is held", i);
                tree_remove(&t);
        }
}

/* The answers of uasd-switch and modprobe, and the requests to them. */
static struct tree *machine;
static int answers[4];
static unsigned runs, loads;
static struct {
        enum driver target;
        uint64_t deadline;
} asked[4];
static bool disk_appears, load_binds, load_changes, disks_known;
static usec_t loading; /* begin of the first load */

static int fake_switch(const struct facts *f, enum driver target, uint64_t deadline)
{
        assert_true(facts_same_attachment(f, tree_facts(machine)));
        assert_in_range(runs, 0, ELEMENTSOF(asked) - 1);
        assert_true(disks_known);
        asked[runs].target = target;
        asked[runs].deadline = deadline;
        if (disk_appears)
                tree_add_lun(machine, 0, "sda", 0);
        return answers[runs++];
}

static void fake_load(const char *module)
{
        loading = loading ?: now_boottime();
        (void) usleep(1000);
        if (streq(module, "sd_mod")) {
                assert_int_equal(runs,
                                 0); /* sd_mod is loaded before uasd-switch waits for the disk */
                disks_known = true;
                return;
        }
        assert_string_equal(module, "usb-storage");
        loads++;
        if (load_changes)
                tree_write(machine, TREE_DIR "/bInterfaceProtocol", "ff\n");
        if (load_binds)
                tree_link(machine, TREE_DIR "/driver", ON_BOT);
}

/* The trial of this disk at this port with this kernel is on record as passed. */
static void passed(struct tree *t)
{
        tree_boot_kernel(t, "6.1.0");
        tree_write(
                t, "etc/uasd/history",
                "1209:5a5a:SN1@usb/hs/1=state=passed firmware=0100 kernel=6.1.0 boot=- date=- reason=\n");
}

static int move(struct tree *t)
{
        runs = loads = 0;
        loading = 0;
        disks_known = false;
        machine = t;
        return early_interface(&t->roots, TREE_INTERFACE, &(struct runner){fake_switch, fake_load});
}

static void no_disk(struct tree *t)
{
        static const char scsi[] = TREE_DIR "/host0/target0:0:0/0:0:0:0";
        char path[200];

        (void) snprintf(path, sizeof(path), "rm -r '%s/%s'", t->path, scsi);
        assert_int_equal(system(path), 0);
}

static void reset(void)
{
        memset(answers, 0, sizeof(answers));
        disk_appears = load_binds = load_changes = false;
}

static void test_moved(void **state)
{
        uint64_t now = now_boottime();
        struct tree t;

        reset();
        make(&t);
        config(&t, "Policy=uas");
        assert_int_equal(move(&t), 0); /* the first time: not where no record can be written */
        assert_int_equal(runs, 0);

        passed(&t);
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 1);
        assert_int_equal(asked[0].target, DRIVER_UAS);
        assert_in_range(asked[0].deadline, now + 15 * USEC_PER_SEC,
                        now_boottime() + 15 * USEC_PER_SEC);
        config(&t, "HoldSec=5");
        assert_int_equal(move(&t), 1);
        assert_in_range(asked[0].deadline, now + 5 * USEC_PER_SEC,
                        now_boottime() + 5 * USEC_PER_SEC);

        tree_link(&t, TREE_DIR "/driver", ON_UAS);
        assert_int_equal(move(&t), 0);
        config(&t, "Policy=usb-storage");
        assert_int_equal(move(&t), 1);
        assert_int_equal(asked[0].target, DRIVER_USB_STORAGE);
        assert_int_equal(loads, 0);
        tree_remove(&t);
}

static void test_moved_not(void **state)
{
        static void (*const rows[])(struct tree * t) = {off,   no_hold,  off_everywhere, hold_sec_0,
                                                        tried, released, cancelled};

        for (size_t i = 0; i < 2 * ELEMENTSOF(rows); i++) {
                int moves = i % 2; /* without the row's change it moves */
                struct tree t;

                reset();
                make(&t);
                passed(&t);
                if (!moves)
                        rows[i / 2](&t);
                if (move(&t) != moves || (runs > 0) != moves)
                        fail_msg("row %zu: %i runs", i / 2, runs);
                tree_remove(&t);
        }
}

/* The machine in the folder has the uptime of the real one. */
static void time_left(struct tree *t, uint64_t left)
{
        char text[200];

        (void) snprintf(text, sizeof(text), "[Timer]\nOnActiveSec=10s\nX-DeviceTimeoutSec=%llums\n",
                        (unsigned long long) ((now_boottime() + left) / USEC_PER_MSEC));
        tree_write(t, "run/systemd/generator/uasd-release@.timer.d/50-hold.conf", text);
}
static void no_patience(struct tree *t)
{
        time_left(t,
                  17 * USEC_PER_SEC); /* 10 for the switch, 5 for the rollback, 3 for the others */
}
static void hold_never(struct tree *t)
{
        tree_write(t, "proc/cmdline", "quiet uasd.hold=0\n");
}
static void not_allowed(struct tree *t)
{
        tree_unlink(t, "run/systemd/generator/uasd-hold");
}
static void was_told(struct tree *t)
{
        tree_write(t, "run/udev/data/b8:0", "I:1000000\nG:systemd\n");
}
static void was_held(struct tree *t)
{
        const struct hold_mark m = {{2, 5}, 1};

        assert_int_equal(hold_write(&t->roots, TREE_INTERFACE, &m), 0);
}

/* In the coldplug of the root file system, before udev announces the disk: then nothing has to wait
 * for a hold. */
static void test_coldplug(void **state)
{
        static void (*const rows[])(struct tree * t) = {
                off_everywhere, hold_never,  hold_sec_0,  tried,    released, cancelled,
                in_use,         no_patience, not_allowed, was_told, was_held,
        };
        uint64_t now = now_boottime();
        struct tree t;

        reset();
        tree_make(&t);
        time_left(&t, 60 * USEC_PER_SEC);
        assert_int_equal(
                move(&t),
                0); /* the first trial needs a record and a watcher: it begins with a hold */
        passed(&t);
        assert_int_equal(move(&t), 1);
        assert_int_equal(asked[0].target, DRIVER_UAS);
        assert_in_range(asked[0].deadline, now + 10 * USEC_PER_SEC,
                        now_boottime() + 10 * USEC_PER_SEC);
        assert_true(asked[0].deadline <=
                    loading + 10 * USEC_PER_SEC); /* the boot waits for modprobe as well */
        config(&t, "HoldSec=5");                  /* shorter than a hold of this boot */
        assert_int_equal(move(&t), 1);
        assert_true(asked[0].deadline <= loading + 5 * USEC_PER_SEC);
        tree_remove(&t);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                tree_make(&t);
                passed(&t);
                time_left(&t, 60 * USEC_PER_SEC);
                rows[i](&t);
                if (move(&t) != 0 || runs > 0)
                        fail_msg("row %zu is moved", i);
                tree_remove(&t);
        }
}

#define ASKED "run/udev/data/+usb:" TREE_INTERFACE

static void asked_by_udev(struct tree *t)
{
        tree_write(t, ASKED, "E:UASD_ASKED=1\n");
}
static void one_protocol(struct tree *t)
{
        tree_uas_alone(t);
}
static void no_protocol(struct tree *t)
{
        tree_write(t, "sys/devices/pci0/usb2/2-1/descriptors", "\x12\x01");
}
static void without_driver(struct tree *t)
{
        tree_unlink(t, TREE_DIR "/driver");
}
static void in_a_switch(struct tree *t)
{
        const struct switch_record record = {.attachment = {2, 5}};

        asked_by_udev(t);
        assert_int_equal(switch_record_write(&t->roots, TREE_INTERFACE, &record), 0);
}
static void moved_here(struct tree *t)
{
        asked_by_udev(t);
        attachment(t, true, false, false);
}
static void other_record(struct tree *t)
{
        tree_write(t, ASKED, "E:ID_MODEL=x\n");
}
static void nothing_said(struct tree *t)
{
}

/* Root is mounted when no disk can be moved any more. */
static void test_settle(void **state)
{
        static const struct {
                void (*is)(struct tree *t);
                int answer;
        } rows[] = {
                {asked_by_udev, 0},
                {one_protocol, 0},
                {without_driver, 0},
                {off, 0},
                {no_hold, 0},
                {moved_here, 1},
                {in_a_switch, -ETIMEDOUT},
                {nothing_said, -ETIMEDOUT},
                {other_record, -ETIMEDOUT},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;
                uint64_t began;
                int k;

                make(&t);
                rows[i].is(&t);
                began = now_boottime();
                k = hold_settle(&t.roots, 50 * USEC_PER_MSEC);
                if (k != rows[i].answer)
                        fail_msg("row %zu: %i", i, k);
                assert_true(now_boottime() - began < 5 * USEC_PER_SEC);
                tree_remove(&t);
        }
}

static void remove_devices(struct tree *t)
{
        char command[128];

        (void) snprintf(command, sizeof(command), "rm -r '%s/sys/bus/usb/devices'", t->path);
        assert_int_equal(system(command), 0);
        tree_write(t, "sys/bus/usb/devices", "no folder");
}
static void announced(struct tree *t)
{
        tree_write(t, "run/udev/data/b8:0", "I:1\nG:systemd\n");
        tree_write(t, "run/udev/data/b8:1", "I:1\nG:systemd\n");
}
static void disk_alone(struct tree *t)
{
        announced(t);
        tree_unlink(t, "run/udev/data/b8:1");
}
static void called_held(struct tree *t)
{
        announced(t);
        tree_write(t, "run/udev/data/b8:1", "I:1\nG:systemd\nE:UASD_HOLD=1\n");
}
static void hold_for(struct tree *t, usec_t usec)
{
        const struct hold_mark m = {{2, 5}, now_boottime() + usec};

        announced(t);
        assert_int_equal(hold_write(&t->roots, TREE_INTERFACE, &m), 0);
}
static void hold_lasts(struct tree *t)
{
        hold_for(t, 10 * USEC_PER_SEC);
}
static void hold_ends(struct tree *t)
{
        hold_for(t, 30 * USEC_PER_MSEC);
}
static void dead_switch(struct tree *t)
{
        in_a_switch(t);
        announced(t);
}

/* In the root file system, what imports disks without a look at holds waits until udev has
 * announced them. */
static void test_settle_boot(void **state)
{
        static const struct {
                void (*is)(struct tree *t);
                int answer;
        } rows[] = {
                {announced, 0},           {one_protocol, 0},
                {off_everywhere, 0},      {hold_ends, 0},
                {dead_switch, 0},         {nothing_said, -ETIMEDOUT},
                {disk_alone, -ETIMEDOUT}, {remove_devices, -ENOTDIR},
                {no_protocol, 0},         {called_held, -ETIMEDOUT},
                {hold_lasts, -ETIMEDOUT},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;
                int k;

                tree_make(&t);
                rows[i].is(&t);
                k = hold_settle(&t.roots, 100 * USEC_PER_MSEC);
                if (k != rows[i].answer)
                        fail_msg("row %zu: %i", i, k);
                tree_remove(&t);
        }
}

static void test_not_an_initramfs(void **state)
{
        struct tree t;

        tree_make(&t);
        assert_int_equal(early_let_go(&t.roots), 0);
        assert_false(tree_exists(&t, "run/uasd/waited-for"));
        tree_remove(&t);
}

/* udev has not loaded the drivers yet. The kernel will choose by itself the driver that most disks
 * want. */
static void test_no_driver(void **state)
{
        struct tree t;

        reset();
        make(&t);
        no_disk(&t);
        tree_unlink(&t, TREE_DIR "/driver");
        passed(&t);
        assert_int_equal(move(&t), 0);
        assert_int_equal(runs + loads, 0);

        config(&t, "Policy=usb-storage");
        assert_int_equal(move(&t), 1);
        assert_int_equal(loads, 1);
        assert_int_equal(asked[0].target, DRIVER_USB_STORAGE);

        load_binds = true; /* this kernel's usb-storage has no UAS support */
        assert_int_equal(move(&t), 0);
        assert_int_equal(loads, 1);
        assert_int_equal(runs, 0);

        load_binds = false;
        load_changes = true; /* it is no disk any more */
        tree_unlink(&t, TREE_DIR "/driver");
        assert_int_equal(move(&t), 0);
        assert_int_equal(runs, 0);
        tree_remove(&t);
}

static void test_again_and_recover(void **state)
{
        struct tree t;
        uint64_t now;

        reset();
        make(&t);
        passed(&t);
        answers[0] = UASD_EXIT_DEFERRED; /* in use: no second try */
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 1);

        no_disk(&t);
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 1);
        disk_appears = true; /* the disk appears during the examination, and is claimed then */
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 2);
        assert_int_equal(asked[1].target, DRIVER_UAS);
        assert_int_equal(asked[1].deadline, asked[0].deadline);

        answers[0] = -ETIMEDOUT;
        tree_unlink(&t, TREE_DIR "/driver");
        tree_link(&t, TREE_DIR "/driver", ON_BOT);
        now = now_boottime();
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 2);
        assert_int_equal(asked[1].target, DRIVER_NONE);
        assert_in_range(asked[1].deadline, now + 5 * USEC_PER_SEC,
                        now_boottime() + 5 * USEC_PER_SEC);
        tree_remove(&t);
}

/* Reading its strings takes the lock of the device, and a disk that hangs keeps it. udev's record
 * has them. */
static void test_reads_no_strings(void **state)
{
        char path[128];
        struct tree t;

        reset();
        make(&t);
        passed(&t);
        tree_unlink(&t, "sys/devices/pci0/usb2/2-1/serial");
        (void) snprintf(path, sizeof(path), "%s/sys/devices/pci0/usb2/2-1/serial", t.path);
        assert_return_code(mkfifo(path, 0600), errno);
        (void) alarm((unsigned) patience(20)); /* the open of a FIFO hangs */
        answers[0] = -ETIMEDOUT;               /* so it is rescued */
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 2);
        answers[0] = 0;
        assert_int_equal(move(&t), 1);
        no_disk(&t);
        answers[0] = UASD_EXIT_DEFERRED;
        disk_appears = true; /* so it is looked at again */
        assert_int_equal(move(&t), 1);
        assert_int_equal(runs, 2);
        assert_true(held(&t, "add", "disk", "sda"));
        assert_int_equal(early_let_go(&t.roots), 0);
        asked_by_udev(&t);
        assert_int_equal(hold_settle(&t.roots, 0), 0);
        called_held(&t);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        (void) alarm(0);
        tree_remove(&t);
}

static int arm(const char *interface)
{
        return 0;
}

static bool held_in_root(struct tree *t)
{
        struct hold_answer a = {.hold = false};

        assert_int_equal(
                hold_decide(&t->roots, &(struct block_event){"sda", "add", "disk"}, arm, &a), 0);
        return a.hold;
}

static void distrust_later(struct tree *t)
{
        tree_write(
                t, "etc/uasd/history",
                "1209:5a5a:SN1@usb/hs/1=state=distrusted firmware=0100 kernel=6.1.0 boot=- date=- reason=it lost data\n");
}
static void policy_later(struct tree *t)
{
        config(t, "Policy=usb-storage");
}

/* The initramfs does not know yet that the disk is to stay off uas. It switches the disk to uas.
 * The root file system then holds it as a new one. */
static void test_stale(void **state)
{
        static void (*const rows[])(struct tree * t) = {distrust_later, policy_later};

        reset();
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;

                make(&t);
                passed(&t);
                assert_int_equal(move(&t), 1);
                assert_int_equal(asked[0].target, DRIVER_UAS);
                attachment(&t, true, true, false); /* as uasd-switch leaves it */
                assert_int_equal(move(&t), 0); /* after that the attachment is not fresh any more */
                tree_link(&t, TREE_DIR "/driver", ON_UAS);

                tree_unlink(&t, "etc/uasd/initramfs");
                rows[i](&t);
                assert_int_equal(move(&t), 0); /* off uas only under a hold */
                assert_true(held_in_root(&t));
                assert_true(tree_exists(&t, "run/uasd/hold/" TREE_INTERFACE));

                /* Only once, whatever the result of the switch. */
                assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
                assert_false(held_in_root(&t));
                tree_remove(&t);
        }
}

/* Exempt are a disk in use, such as the one with the root file system, and a disk that the
 * initramfs put on the right driver. */
static void test_stale_not(void **state)
{
        struct tree t;

        make(&t);
        attachment(&t, true, true, false);
        tree_link(&t, TREE_DIR "/driver", ON_UAS);
        tree_unlink(&t, "etc/uasd/initramfs");
        assert_false(held_in_root(&t));
        distrust_later(&t);
        tree_boot_kernel(&t, "6.1.0");
        in_use(&t);
        assert_false(held_in_root(&t));
        tree_remove(&t);
}

static void test_let_go(void **state)
{
        static const char path[] = "sys/class/block/sda/uevent";
        struct tree t;

        make(&t);
        assert_int_equal(early_let_go(&t.roots), 0);
        assert_string_equal(tree_read(&t, path), "add");
        assert_string_equal(tree_read(&t, "sys/class/block/sda1/uevent"), "add");
        assert_false(held(&t, "add", "disk", "sda"));
        tree_write(&t, path, "");
        assert_int_equal(early_let_go(&t.roots), 0); /* only once */
        assert_string_equal(tree_read(&t, path), "");
        tree_remove(&t);

        make(&t);
        no_protocol(&t); /* it was not held */
        assert_int_equal(early_let_go(&t.roots), 0);
        assert_string_equal(tree_read(&t, path), "");
        tree_remove(&t);

        make(&t);
        remove_devices(&t);
        assert_int_equal(early_let_go(&t.roots), -ENOTDIR); /* which disks are held is not known */
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_held),
                cmocka_unit_test(test_held_not),
                cmocka_unit_test(test_moved),
                cmocka_unit_test(test_moved_not),
                cmocka_unit_test(test_coldplug),
                cmocka_unit_test(test_settle),
                cmocka_unit_test(test_settle_boot),
                cmocka_unit_test(test_not_an_initramfs),
                cmocka_unit_test(test_no_driver),
                cmocka_unit_test(test_again_and_recover),
                cmocka_unit_test(test_let_go),
                cmocka_unit_test(test_stale),
                cmocka_unit_test(test_reads_no_strings),
                cmocka_unit_test(test_stale_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
