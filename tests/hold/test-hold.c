/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a hold begins, continues and ends: tables over a machine in a folder. H1 and so on:
 * tests/vm/cases/incidents.py. */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../patience.h"
#include "../sys/tree.h"
#include "common/util.h"
#include "hold/hold.h"
#include "sys/io/clock.h"
#include "sys/state/attachment.h"
#include "sys/state/switch-record.h"

static unsigned armed;
static int arm_error;

static int fake_arm(const char *interface)
{
        assert_string_equal(interface, TREE_INTERFACE);
        armed++;
        return arm_error;
}

static struct hold_answer ask(struct tree *t, const char *action, const char *devtype,
                              const char *block)
{
        const struct block_event e = {block, action, devtype};
        struct hold_answer a = {.hold = true};

        armed = 0;
        assert_int_equal(hold_decide(&t->roots, &e, fake_arm, &a), 0);
        return a;
}

static void mark(struct tree *t, unsigned devnum, int seconds)
{
        const struct hold_mark m = {
                {2, devnum},
                now_boottime() + (uint64_t) ((int64_t) seconds * (int64_t) USEC_PER_SEC)};

        assert_int_equal(hold_write(&t->roots, TREE_INTERFACE, &m), 0);
}

static bool marked(struct tree *t)
{
        struct hold_mark m;

        return hold_read(&t->roots, TREE_INTERFACE, &m) > 0;
}

static void attachment(struct tree *t, bool tried, bool released, bool cancelled)
{
        const struct attachment_mark m = {
                .tried = tried, .released = released, .cancelled = cancelled};

        assert_int_equal(attachment_change(&t->roots, tree_facts(t), MARK_ALL, &m), 0);
}

static void test_begins(void **state)
{
        struct hold_answer a;
        struct hold_mark m;
        struct tree t;
        uint64_t now;

        tree_make(&t);
        arm_error = 0;
        now = now_boottime();
        a = ask(&t, "add", "disk", "sda");
        assert_true(a.hold);
        assert_true(a.capable);
        assert_false(a.no_auto);
        assert_int_equal(armed, 1);
        assert_int_equal(hold_read(&t.roots, TREE_INTERFACE, &m), 1);
        assert_int_equal(m.attachment.busnum, 2);
        assert_int_equal(m.attachment.devnum, 5);
        assert_in_range(m.deadline, now + 20 * USEC_PER_SEC, now_boottime() + 20 * USEC_PER_SEC);

        /* The same event again, its partition, another disk of the interface: all are held, and the
         * timer is not armed again. */
        tree_add_lun(&t, 1, "sdb", 16);
        assert_true(ask(&t, "add", "disk", "sda").hold);
        assert_true(ask(&t, "add", "partition", "sda1").hold);
        assert_true(ask(&t, "change", "disk", "sda").hold);
        assert_true(ask(&t, "add", "disk", "sdb").hold);
        assert_int_equal(armed, 0);
        tree_remove(&t);
}

static void no_link(struct tree *t)
{
        tree_unlink(t, "run/systemd/generator/uasd-hold");
}
static void broken_limits(struct tree *t)
{
        tree_write(t, "run/systemd/generator/uasd-release@.timer.d/50-hold.conf",
                   "[Timer]\nOnActiveSec=soon\n");
}
static void no_limits(struct tree *t)
{
        tree_unlink(t, "run/systemd/generator/uasd-release@.timer.d/50-hold.conf");
}
static void cmdline_off(struct tree *t)
{
        tree_write(t, "proc/cmdline", "quiet uasd=off\n");
}
static void cmdline_no_hold(struct tree *t)
{
        tree_write(t, "proc/cmdline", "uasd.hold=0 quiet\n");
}
static void hold_sec_0(struct tree *t)
{
        tree_write(t, "etc/uasd/uasd.conf", "[uasd]\nHoldSec=0\n");
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
static void expired(struct tree *t)
{
        mark(t, 5, -1);
}
static void broken_mark(struct tree *t)
{
        tree_link(t, "run/uasd/hold/" TREE_INTERFACE, "/dev/null");
}
static void told_disk(struct tree *t)
{
        tree_write(t, "run/udev/data/b8:0",
                   "S:disk/by-id/x\nI:1\nE:ID_BUS=usb\nG:systemd\nQ:systemd\nV:1\n");
}
static void told_not_held(struct tree *t)
{
        tree_write(t, "run/udev/data/b8:0", "I:1\nE:UASD_HOLD=0\nG:systemd\nV:1\n");
}
static void told_partition(struct tree *t)
{
        tree_write(t, "run/udev/data/b8:1", "I:1\nG:systemd\nV:1\n");
}
static void told_sibling(struct tree *t)
{
        tree_add_lun(t, 1, "sdb", 16);
        tree_write(t, "run/udev/data/b8:16", "I:1\nG:systemd\nV:1\n");
}
static void mounted(struct tree *t)
{
        tree_write(
                t, "proc/1/mountinfo",
                "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 22 8:1 / /mnt rw - ext4 /dev/sda1 rw\n");
}
static void mounts_unknown(struct tree *t)
{
        tree_unlink(t, "proc/1/mountinfo");
}
static void swapped(struct tree *t)
{
        tree_write(t, "proc/swaps",
                   "Filename Type Size Used Priority\n/dev/sda1 partition 1 0 -2\n");
}
static void mapped(struct tree *t)
{
        tree_write(t, TREE_DIR "/host0/target0:0:0/0:0:0:0/block/sda/sda1/holders/dm-0/x", "");
}
static void on_uas(struct tree *t)
{
        tree_link(t, TREE_DIR "/driver", "../../../../../bus/usb/drivers/uas");
}
static void ignored(struct tree *t)
{
        tree_write(t, "etc/uasd/uasd.conf", "[uasd]\nPolicy=ignore\n");
}
static void policy_of_serial(struct tree *t)
{
        tree_write(t, "etc/uasd/uasd.conf", "[Disk 1209:5a5a:SN1]\nPolicy=usb-storage\n");
}
static void incapable(struct tree *t)
{
        tree_write(t, "sys/devices/pci0/usb2/2-1/descriptors", "\x12\x01");
}
static void quirk(struct tree *t)
{
        tree_write(t, "sys/module/usb_storage/parameters/quirks", "1209:5a5a:u\n");
}
static void timer_fails(struct tree *t)
{
        arm_error = -ETIME;
}
static void no_mark(struct tree *t)
{
        tree_write(t, "run/uasd/hold", "no folder");
}
static void mark_not_written(struct tree *t) /* its temporary file cannot be made */
{
        char path[96];

        (void) snprintf(path, sizeof(path), "run/uasd/hold/.%s.%i/folder", TREE_INTERFACE,
                        (int) getpid());
        tree_write(t, path, "");
}
static void run_is_full(struct tree *t)
{
        tree_write(t, "run/uasd", "");
}
static void nothing(struct tree *t)
{
}

static void test_begins_not(void **state)
{
        static const struct {
                const char *name;
                void (*change)(struct tree *t);
                const char *action, *devtype, *block;
                unsigned armed;
        } rows[] = {
                {"only add begins", nothing, "change", "disk", "sda", 0},
                {"bind is none either", nothing, "bind", "disk", "sda", 0},
                {"without an action", nothing, NULL, NULL, "sda", 0},
                {"a partition alone", nothing, "add", "partition", "sda1", 0},
                {"not enabled", no_link, "add", "disk", "sda", 0},
                {"no number to go by", broken_limits, "add", "disk", "sda", 0},
                {"a link to nothing", no_limits, "add", "disk", "sda", 0},
                {"uasd=off", cmdline_off, "add", "disk", "sda", 0},
                {"uasd.hold=0", cmdline_no_hold, "add", "disk", "sda", 0},
                {"HoldSec=0", hold_sec_0, "add", "disk", "sda", 0},
                {"one try: tried", tried, "add", "disk", "sda", 0},
                {"one try: released", released, "add", "disk", "sda", 0},
                {"a user said no", cancelled, "add", "disk", "sda", 0},
                {"one try: ran out", expired, "add", "disk", "sda", 0},
                {"a mark that cannot be read", broken_mark, "add", "disk", "sda", 0},
                {"H1: PID 1 knows the disk", told_disk, "add", "disk", "sda", 0},
                {"H1: PID 1 knows its partition", told_partition, "add", "disk", "sda", 0},
                {"H1: PID 1 knows another LUN", told_sibling, "add", "disk", "sda", 0},
                {"H4: mounted", mounted, "add", "disk", "sda", 0},
                {"H4: the mounts are unknown", mounts_unknown, "add", "disk", "sda", 0},
                {"H5: swap", swapped, "add", "disk", "sda", 0},
                {"H5: mapped", mapped, "add", "disk", "sda", 0},
                {"H15: on its target already", on_uas, "add", "disk", "sda", 0},
                {"H15: to be ignored", ignored, "add", "disk", "sda", 0},
                {"H15: policy by serial", policy_of_serial, "add", "disk", "sda", 0},
                {"H15: kept off by quirk", quirk, "add", "disk", "sda", 0},
                {"H15: not capable", incapable, "add", "disk", "sda", 0},
                {"no timer, no hold", timer_fails, "add", "disk", "sda", 1},
                {"marks cannot be read", no_mark, "add", "disk", "sda", 0},
                {"no mark, no hold", mark_not_written, "add", "disk", "sda", 1},
                {"no room for marks", run_is_full, "add", "disk", "sda", 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;
                bool before;

                tree_make(&t);
                arm_error = 0;
                rows[i].change(&t);
                before = marked(&t);
                if (ask(&t, rows[i].action, rows[i].devtype, rows[i].block).hold)
                        fail_msg("%s: held", rows[i].name);
                if (armed != rows[i].armed)
                        fail_msg("%s: armed %u times", rows[i].name, armed);
                if (marked(&t) != before)
                        fail_msg("%s: marked", rows[i].name);
                tree_remove(&t);
        }
}

/* A hold is in force; the row has the facts at the next event. */
static void test_goes_on(void **state)
{
        static const struct {
                const char *name;
                void (*change)(struct tree *t);
                const char *action, *devtype, *block;
                bool hold;
        } rows[] = {
                {"H2: every event says it again", nothing, "change", "disk", "sda", true},
                {"partitions too", nothing, "change", "partition", "sda1", true},
                {"a daemon-reload has no link for a moment", no_link, "change", "disk", "sda",
                 true},
                {"switched: the new disk is held", on_uas, "add", "disk", "sda", true},
                {"tried, and held until it is compared", tried, "add", "disk", "sda", true},
                {"released", released, "add", "disk", "sda", false},
                {"uasd.hold=0 is never", cmdline_no_hold, "change", "disk", "sda", false},
                {"H1: known as ready", told_disk, "change", "disk", "sda", false},
                {"H1: known as ready, and it says so", told_not_held, "change", "disk", "sda",
                 false},
                {"H1: known as ready, a partition", told_partition, "change", "partition", "sda1",
                 false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;

                tree_make(&t);
                mark(&t, 5, 10);
                rows[i].change(&t);
                if (ask(&t, rows[i].action, rows[i].devtype, rows[i].block).hold != rows[i].hold)
                        fail_msg("%s: %s", rows[i].name, rows[i].hold ? "not held" : "held");
                assert_int_equal(armed, 0);
                tree_remove(&t);
        }
}

static void test_held_device_stays_held(void **state)
{
        struct tree t;

        tree_make(&t);
        mark(&t, 5, 10);
        tree_write(&t, "run/udev/data/b8:0",
                   "I:1\nE:SYSTEMD_READY=0\nE:UASD_HOLD=1\nG:systemd\nQ:systemd\nV:1\n");
        assert_true(ask(&t, "change", "disk", "sda").hold);
        mark(&t, 5, -1);
        assert_false(ask(&t, "change", "disk", "sda").hold);
        tree_remove(&t);
}

static void test_mark_of_another_plug(void **state)
{
        struct tree t;

        tree_make(&t);
        arm_error = 0;
        mark(&t, 4, 10);
        assert_false(ask(&t, "change", "disk", "sda").hold);
        assert_true(ask(&t, "add", "disk", "sda").hold); /* this hold is its own */
        assert_int_equal(armed, 1);
        tree_remove(&t);
}

/* /run outlived a boot: the mark has the time of another clock, and there is no timer for it. */
static void test_mark_of_another_boot(void **state)
{
        struct tree t;

        tree_make(&t);
        mark(&t, 5, 3600);
        assert_false(ask(&t, "change", "disk", "sda").hold);
        assert_false(ask(&t, "add", "disk", "sda").hold);
        assert_int_equal(armed, 0);
        tree_remove(&t);
}

static void test_no_auto(void **state)
{
        const struct attachment_mark m = {.tried = true, .no_auto = true};
        struct hold_answer a;
        struct tree t;

        tree_make(&t);
        assert_int_equal(attachment_change(&t.roots, tree_facts(&t), MARK_ALL, &m), 0);
        a = ask(&t, "add", "partition", "sda1");
        assert_true(a.no_auto);
        assert_false(a.hold);
        tree_remove(&t);
}

static void test_not_ours(void **state)
{
        const struct block_event unknown = {"sdz", "add", "disk"},
                                 nasty = {"../sda", "add", "disk"};
        struct hold_answer a;
        struct tree t;

        tree_make(&t);
        assert_true(hold_decide(&t.roots, &unknown, fake_arm, &a) < 0);
        assert_true(hold_decide(&t.roots, &nasty, fake_arm, &a) < 0);
        tree_remove(&t);
}

/* It has no second driver, so it is no disk that could be switched. */
static void test_not_capable(void **state)
{
        struct tree t;

        tree_make(&t);
        assert_true(ask(&t, "add", "disk", "sda").capable);
        tree_uas_alone(&t);
        assert_false(ask(&t, "add", "disk", "sda").capable);
        tree_remove(&t);
}

static char *uevent(struct tree *t, const char *below)
{
        char path[200];

        (void) snprintf(path, sizeof(path), TREE_DIR "/host0/target0:0:0/0:0:0:0/block/%s/uevent",
                        below);
        return tree_read(t, path);
}

static void test_ends(void **state)
{
        struct attachment_mark m;
        bool ran_out;
        struct tree t;

        tree_make(&t);
        mark(&t, 5, 10);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, &ran_out), 1);
        assert_false(ran_out);
        assert_false(marked(&t));
        assert_int_equal(attachment_read(&t.roots, tree_facts(&t), &m), 1);
        assert_true(m.released);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        assert_memory_equal(uevent(&t, "sda/sda1"), "add", 3);
        assert_false(ask(&t, "add", "disk", "sda").hold);

        /* A second end sends no second event. */
        tree_write(&t, TREE_DIR "/host0/target0:0:0/0:0:0:0/block/sda/uevent", "");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 0);
        assert_string_equal(uevent(&t, "sda"), "");
        tree_remove(&t);
}

static void test_ends_by_time(void **state)
{
        bool ran_out = false;
        struct tree t;

        tree_make(&t);
        mark(&t, 5, -1);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, &ran_out), 1);
        assert_true(ran_out);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        tree_remove(&t);

        tree_make(&t); /* udev has held it, and its mark is lost */
        tree_write(&t, "run/udev/data/b8:0", "I:1\nE:UASD_HOLD=1\nG:systemd\nV:1\n");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, &ran_out), 1);
        assert_false(ran_out);
        tree_remove(&t);
}

/* The record of a uasd-switch that runs, or that has died. */
static void record(struct tree *t, pid_t pid, bool await)
{
        char text[64];

        (void) snprintf(text, sizeof(text), "PID=%i\nAWAIT=%i\n", (int) pid, await);
        tree_write(t, "run/uasd/switch/" TREE_INTERFACE, text);
}

/* uasd-switch was stopped between the two drivers: the kernel chooses one, and what waits for the
 * disk goes on. */
static void test_ends_between_drivers(void **state)
{
        static const struct {
                bool record, driver, probed;
        } rows[] = {{true, false, true}, {false, false, false}, {true, true, false}};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct tree t;

                tree_make(&t);
                tree_write(&t, "sys/bus/usb/drivers_probe", "");
                mark(&t, 5, -1);
                if (rows[i].record)
                        record(&t, getpid(), false);
                if (!rows[i].driver)
                        tree_unlink(&t, TREE_DIR "/driver");
                assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
                assert_string_equal(tree_read(&t, "sys/bus/usb/drivers_probe"),
                                    rows[i].probed ? TREE_INTERFACE : "");
                assert_int_equal(tree_exists(&t, "run/uasd/switch/" TREE_INTERFACE),
                                 rows[i].record && !rows[i].probed);
                tree_remove(&t);
        }
}

/* The release cannot be recorded, but the mark is gone: it holds nothing, and the events are sent.
 */
static void test_ends_with_errors(void **state)
{
        struct tree t;

        tree_make(&t);
        mark(&t, 5, 10);
        tree_write(&t, "run/uasd/attachment", "no folder");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        mark(&t, 5, -1);
        tree_write(&t, TREE_DIR "/host0/target0:0:0/0:0:0:0/block/sda/uevent", "");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        /* Another process removed the mark, and could not record the release either: the timer
         * finds only udev's record. */
        tree_write(&t, "run/udev/data/b8:0", "I:1\nE:UASD_HOLD=1\nG:systemd\nV:1\n");
        tree_write(&t, TREE_DIR "/host0/target0:0:0/0:0:0:0/block/sda/uevent", "");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        assert_false(ask(&t, "add", "disk", "sda").hold);
        tree_remove(&t);

        /* Nor can the mark be read or removed: it holds nothing. */
        tree_make(&t);
        tree_write(&t, "run/uasd/attachment", "no folder");
        tree_write(&t, "run/uasd/hold/" TREE_INTERFACE "/file", "");
        tree_write(&t, "run/udev/data/b8:0", "I:1\nE:UASD_HOLD=1\nG:systemd\nV:1\n");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        tree_remove(&t);

        /* The event cannot be sent; a disk that has gone needs none. */
        tree_make(&t);
        mark(&t, 5, 10);
        tree_unlink(&t, "sys/class/block/sda");
        tree_unlink(&t, "sys/class/block/sda1");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        mark(&t, 5, 10);
        tree_write(&t, "sys/class/block/sda/uevent/folder", "");
        tree_write(&t, "sys/class/block/sda1/uevent/folder", "");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), -EISDIR);
        tree_remove(&t);
}

/* Neither the mark can be removed nor the release recorded: the hold lasts until its deadline, and
 * then it ends. */
static void test_ends_read_only(void **state)
{
        char run[PATH_MAX];
        struct tree t;

        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                skip();
        tree_make(&t);
        (void) snprintf(run, sizeof(run), "%s/run/uasd", t.path);
        assert_int_equal(mkdir(run, 0755), 0);
        assert_int_equal(mount("none", run, "tmpfs", 0, NULL), 0);
        mark(&t, 5, 10);
        assert_int_equal(mount("none", run, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), -EROFS);
        assert_true(ask(&t, "add", "disk", "sda").hold);

        assert_int_equal(mount("none", run, NULL, MS_REMOUNT, NULL), 0);
        mark(&t, 5, -1);
        assert_int_equal(mount("none", run, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda"), "add", 3);
        assert_int_equal(umount(run), 0);
        tree_remove(&t);
}

/* The process that removed the mark died before the trigger. udev's record shows that the devices
 * are still held. */
static void test_ends_without_mark(void **state)
{
        struct tree t;

        tree_make(&t);
        tree_write(&t, "run/udev/data/b8:1", "I:1\nE:UASD_HOLD=1\nG:systemd\nV:1\n");
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 1);
        assert_memory_equal(uevent(&t, "sda/sda1"), "add", 3);
        tree_remove(&t);
}

/* A child that removes record and mark after a while, like a switch that succeeds. */
static pid_t ends_soon(struct tree *t, unsigned msec)
{
        pid_t pid = fork();

        if (pid == 0) {
                (void) usleep(msec * 1000);
                (void) hold_release(&t->roots, tree_facts(t));
                tree_unlink(t, "run/uasd/switch/" TREE_INTERFACE);
                _exit(0);
        }
        return pid;
}

static void test_awaits(void **state)
{
        static const struct {
                const char *name;
                void (*change)(struct tree *t);
                const char *action, *devtype, *block;
                bool waits;
        } rows[] = {
                {"the first event of the new disk", nothing, "add", "disk", "sda", true},
                {"its partition comes after it anyway", nothing, "add", "partition", "sda1", false},
                {"a change is not the first event", nothing, "change", "disk", "sda", false},
                {"a disk that uasd knows is not kept waiting", told_disk, "add", "disk", "sda",
                 false},
                {"uasd.hold=0", cmdline_no_hold, "add", "disk", "sda", false},
                {"uasd=off", cmdline_off, "add", "disk", "sda", false},
                {"HoldSec=0", hold_sec_0, "add", "disk", "sda", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t began;
                struct tree t;
                struct hold_answer a;
                pid_t pid;

                tree_make(&t);
                mark(&t, 5, 10);
                on_uas(&t);
                rows[i].change(&t);
                record(&t, getpid(), true);
                pid = ends_soon(&t, 300);
                began = now_boottime();
                a = ask(&t, rows[i].action, rows[i].devtype, rows[i].block);
                if ((now_boottime() - began >= 250 * USEC_PER_MSEC) != rows[i].waits)
                        fail_msg("%s: %s", rows[i].name,
                                 rows[i].waits ? "not waited for" : "waited for");
                if (rows[i].waits && (a.hold || !a.capable))
                        fail_msg("%s: held in the end, or not read again", rows[i].name);
                (void) waitpid(pid, NULL, 0);
                tree_remove(&t);
        }
}

/* The helper does not wait for a dead uasd-switch, for one whose record does not ask for it, or
 * beyond the end of the hold. */
static void test_awaits_no_longer(void **state)
{
        uint64_t began = now_boottime();
        struct hold_answer a;
        struct tree t;
        pid_t pid;

        tree_make(&t);
        pid = fork();
        if (pid == 0)
                _exit(0);
        (void) waitpid(pid, NULL, 0);
        on_uas(&t);
        record(&t, pid, true);
        assert_false(ask(&t, "add", "disk", "sda").hold);
        mark(&t, 5, 10);
        assert_true(ask(&t, "add", "disk", "sda").hold);
        record(&t, getpid(), false);
        assert_true(ask(&t, "add", "disk", "sda").hold);
        assert_true(now_boottime() - began < patience(5 * USEC_PER_SEC));
        record(&t, getpid(), true);
        mark(&t, 5, 1);
        began = now_boottime();
        a = ask(&t, "add", "disk", "sda");
        assert_true(now_boottime() - began < AWAIT_USEC); /* as long as it waits without a hold */
        assert_int_equal(a.hold, 0);
        assert_int_equal(a.capable, 1); /* the switch still asks to wait, and gets an answer */
        assert_int_equal(a.verdict, VERDICT_UNKNOWN);
        tree_remove(&t);
}

static void test_ends_for_nobody(void **state)
{
        struct tree t;

        tree_make(&t);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 0); /* never held: no event */
        assert_string_equal(uevent(&t, "sda"), "");
        assert_int_equal(hold_end(&t.roots, "../x", NULL), -EINVAL);
        told_disk(&t); /* nor is it held now */
        mark(&t, 4, 10);
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 0);
        assert_string_equal(uevent(&t, "sda"), "");
        mark(&t, 5, 10);
        tree_unlink(&t, "sys/bus/usb/devices/2-1:1.0"); /* pulled out */
        assert_int_equal(hold_end(&t.roots, TREE_INTERFACE, NULL), 0);
        assert_false(marked(&t));
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_begins),
                cmocka_unit_test(test_begins_not),
                cmocka_unit_test(test_goes_on),
                cmocka_unit_test(test_held_device_stays_held),
                cmocka_unit_test(test_mark_of_another_plug),
                cmocka_unit_test(test_mark_of_another_boot),
                cmocka_unit_test(test_no_auto),
                cmocka_unit_test(test_not_ours),
                cmocka_unit_test(test_not_capable),
                cmocka_unit_test(test_awaits),
                cmocka_unit_test(test_awaits_no_longer),
                cmocka_unit_test(test_ends),
                cmocka_unit_test(test_ends_by_time),
                cmocka_unit_test(test_ends_between_drivers),
                cmocka_unit_test(test_ends_with_errors),
                cmocka_unit_test(test_ends_read_only),
                cmocka_unit_test(test_ends_without_mark),
                cmocka_unit_test(test_ends_for_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
