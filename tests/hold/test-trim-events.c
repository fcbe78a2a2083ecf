/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stored TRIM settings: what udev's rule does with them at an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../sys/tree.h"
#include "common/util.h"
#include "hold/hold.h"
#include "sys/state/trims.h"

#define SCSI TREE_DIR "/host0/target0:0:0/0:0:0:0"
#define MODE SCSI "/scsi_disk/0:0:0:0/provisioning_mode"
#define MAX UINT64_C(2146435072)

/* A disk in a tree. Returns its medium, as a LUN of the setting. */
static struct trim_lun make(struct tree *t, struct usb_disk *ret)
{
        struct trim_lun l = {.max_bytes = MAX};

        tree_make(t);
        assert_int_equal(usb_disk_read(&t->roots, TREE_INTERFACE, false, ret), 1);
        tree_link(t, SCSI "/block/sda/device", "../..");
        tree_link(t, "sys/block/sda", "../class/block/sda");
        tree_write(t, SCSI "/model", "Disk A          \n");
        trim_read_medium(&t->roots, "sda", &l.medium);
        return l;
}

/* The conditions at an event: stored setting, mode, whether uasd set it before; and the expected
 * result. */
static const struct {
        const char *what, *mode;
        bool kept;
        const char *before; /* UASD_TRIM_SET in udev's record */
        bool on, set;
        const char *write;
        uint64_t max;
} table[] = {
        {"nobody said anything", "full", false, NULL, false, false, NULL, 0},
        {"the kernel took it up", "unmap", false, NULL, false, false, NULL, 0},
        {"kept on, the disk has come", "full", true, NULL, true, true, "unmap", MAX},
        {"and is on", "unmap", true, "1", true, true, NULL, 0},
        {"kept on, but the kernel was first", "unmap", true, NULL, true, false, NULL, 0},
        {"kept on, and a user turned it off", "disabled", true, "1", true, true, NULL, 0},
        {"taken back", "unmap", false, "1", false, false, "full", 0},
        {"setting removed, and off already", "full", false, "1", false, false, NULL, 0},
        {"no such attribute", NULL, true, NULL, true, false, NULL, 0},
        {"on, and udev's record says that uasd did not set it", "unmap", false, "0", false, false,
         NULL, 0},
};

static void test_events(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct trim_answer a = {.max_bytes = 9};
                char record[32];
                struct usb_disk d = {};
                struct tree t;
                struct trim_lun lun = make(&t, &d);

                if (table[i].mode)
                        tree_write(&t, MODE, table[i].mode);
                if (table[i].before) {
                        (void) snprintf(record, sizeof(record), "E:UASD_TRIM_SET=%s\n",
                                        table[i].before);
                        tree_write(&t, "run/udev/data/b8:0", record);
                }
                if (table[i].kept)
                        assert_int_equal(trims_store(&t.roots, &d.facts, false, &lun, 1), 0);
                trim_ask(&t.roots, &d, d.luns, &a);
                if (a.on != table[i].on || a.set != table[i].set || a.max_bytes != table[i].max ||
                    !streq(a.mode ?: "-", table[i].write ?: "-"))
                        fail_msg("%s: %i %i %s %llu", table[i].what, a.on, a.set, a.mode ?: "-",
                                 (unsigned long long) a.max_bytes);

                /* After a boot with uasd=off nothing is done. */
                tree_write(&t, "proc/cmdline", "quiet uasd=off\n");
                trim_ask(&t.roots, &d, d.luns, &a);
                assert_true(!a.on && !a.set && !a.mode);
                usb_disk_done(&d);
                tree_remove(&t);
        }
}

/* An event is about one LUN, and the setting may be for another one. */
static void test_second_lun(void **state)
{
        static const char *const disks[] = {"sda", "sdb"};
        struct trim_lun lun = {.lun = 1};
        struct hold_answer a;
        struct usb_disk d;
        struct tree t;

        tree_make(&t);
        tree_add_lun(&t, 1, "sdb", 16);
        tree_link(&t, "sys/block/sdb", "../class/block/sdb");
        tree_link(&t, TREE_DIR "/host0/target0:0:0/0:0:0:1/block/sdb/device", "../..");
        trim_read_medium(&t.roots, "sdb", &lun.medium);
        for (size_t i = 0; i < 2 * ELEMENTSOF(disks); i++) {
                const struct block_event e = {disks[i % 2], "change", "disk"};

                assert_int_equal(hold_ask(&t.roots, &e, false, &d, &a), HOLD_ANSWERED);
                assert_int_equal(a.trim.on, i == 3);
                if (i == 1)
                        assert_int_equal(trims_store(&t.roots, &d.facts, false, &lun, 1), 0);
                usb_disk_done(&d);
        }
        tree_remove(&t);
}

/* Behind the bridge is another disk, or one that offers no TRIM any more: uasd sets the mode back
 * that it has set. */
static void test_medium(void **state)
{
        static const struct {
                const char *file, *text;
                bool on;
                const char *write;
        } changes[] = {
                {SCSI "/model", "Disk A          \n", true, NULL},
                {SCSI "/model", "Disk B          \n", false, "full"},
                {SCSI "/vpd_pgb2", "\1\xb2\1\4\1\1\2", false, "full"},
        };

        for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                struct trim_answer a = {};
                struct usb_disk d = {};
                struct tree t;
                struct trim_lun lun = make(&t, &d);

                assert_int_equal(trims_store(&t.roots, &d.facts, false, &lun, 1), 0);
                tree_write(&t, MODE, "unmap");
                tree_write(&t, "run/udev/data/b8:0", "E:UASD_TRIM_SET=1\n");
                tree_write(&t, changes[i].file, changes[i].text);
                trim_ask(&t.roots, &d, d.luns, &a);
                if (a.on != changes[i].on || !streq(a.mode ?: "-", changes[i].write ?: "-"))
                        fail_msg("%zu: %i %s", i, a.on, a.mode ?: "-");
                usb_disk_done(&d);
                tree_remove(&t);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_events),
                cmocka_unit_test(test_second_lun),
                cmocka_unit_test(test_medium),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
