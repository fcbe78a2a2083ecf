/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From udev's record of the USB device and the quirks parameter to the decision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include "../sys/tree.h"
#include "common/names.h"
#include "common/util.h"
#include "core/history.h"
#include "core/policy.h"
#include "hold/hold.h"
#include "sys/facts.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

#define RECORD "run/udev/data/c189:132"
#define DEVICE "sys/devices/pci0/usb2/2-1/"
#define COMPATIBLE "sys/firmware/devicetree/base/compatible"
#define SAYS1 "I:1\nE:UASD_DB_CHIP=Chip\nE:UASD_DB_1="

static int no_timer(const char *interface)
{
        fail_msg("a hold begins");
        return -EIO;
}

static int make(void **state)
{
        static struct tree t;

        tree_make(&t);
        *state = &t;
        return 0;
}

static int done(void **state)
{
        tree_remove(*state);
        return 0;
}

static void complete(struct tree *t, const char *record, struct facts *ret)
{
        struct usb_disk d = {0};
        struct config c;

        tree_write(t, RECORD, record);
        config_init(&c);
        assert_true(usb_disk_read(&t->roots, TREE_INTERFACE, false, &d) > 0);
        facts_complete(&t->roots, &c, &d.facts);
        *ret = d.facts;
        usb_disk_done(&d);
        config_done(&c);
}

#define PI "raspberrypi,4-model-b\0brcm,bcm2711"

/* Writes a list of strings, each with its NUL. */
static void write_compatible(struct tree *t, const char *list, size_t size)
{
        _cleanup_close_ int fd = -1;

        tree_write(t, COMPATIBLE, "");
        fd = openat(t->roots.sys, SYSFS_COMPATIBLE, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, list, size), size);
}

static void test_platform(void **state)
{
        char text[PLATFORM_MAX], long_list[2 * PLATFORM_MAX];
        struct utsname machine;
        struct tree *t = *state;

        assert_int_equal(uname(&machine), 0);
        platform_read(&t->roots, text);
        assert_string_equal(text, machine.machine);
        write_compatible(t, PI, sizeof(PI));
        platform_read(&t->roots, text);
        assert_string_equal(text, "raspberrypi,4-model-b brcm,bcm2711");
        memset(long_list, 'x', sizeof(long_list));
        write_compatible(t, long_list, sizeof(long_list));
        platform_read(&t->roots, text);
        assert_int_equal(strlen(text), PLATFORM_MAX - 1);
}

/* The verdict for the block device. A disk with a bad bridge stays on its driver, so there is no
 * hold. */
static void test_asked_of_udev(void **state)
{
        const struct block_event e = {"sda", "add", "disk"};
        struct hold_answer a;
        struct tree *t = *state;

        tree_write(t, RECORD, SAYS1 "bad;*;*;A list;2026-11\n");
        assert_int_equal(hold_decide(&t->roots, &e, no_timer, &a), 0);
        assert_int_equal(a.verdict, VERDICT_BAD);
        assert_false(a.hold);
        assert_true(a.capable);
}

static void test_decides(void **state)
{
        static const struct {
                const char *record;
                enum verdict verdict;
                enum reason reason;
        } table[] = {
                {"I:1\n", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
                {"", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
                {SAYS1 "bad;*;*;A list;2026-11\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {SAYS1 "good;*;*;A list;2026-11\n", VERDICT_GOOD, REASON_FASTEST},
                {SAYS1 "bad;0000-0213;*;A list;2026-11\n", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
                {SAYS1 "bad;0214-0214;*;A list;2026-11\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {SAYS1 "bad;*;raspberrypi;A list;2026-11\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {SAYS1 "bad;*;brcm,bcm2711;A list;2026-11\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {SAYS1 "bad;*;x86;A list;2026-11\n", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
                {SAYS1 "bad;*;*;A list;2026-11\nE:UASD_DB_2=good;*;*;B;2026-11\n", VERDICT_UNKNOWN,
                 REASON_UNKNOWN_BRIDGE},
                {SAYS1 "bad;*;*;Linux 7.3 unusual_uas.h;2026-11\n", VERDICT_UNKNOWN,
                 REASON_UNKNOWN_BRIDGE},
                /* A row that uasd does not understand does not invalidate the others. */
                {SAYS1 "sad\nE:UASD_DB_2=bad;*;*;B;2026-11\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {SAYS1 "\nE:UASD_DB_3=bad;*;*;B;2026-11\n", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
                {SAYS1 "bad;*;*;A list;2026-11\nE:UASD_VERDICT=good\n", VERDICT_GOOD,
                 REASON_FASTEST},
                {SAYS1 "bad;*;*;A list;2026-11\nE:UASD_VERDICT=unknown\n", VERDICT_UNKNOWN,
                 REASON_UNKNOWN_BRIDGE},
                {"I:1\nE:UASD_VERDICT=bad\n", VERDICT_BAD, REASON_VERDICT_BAD},
                {"I:1\nE:UASD_VERDICT=worse\n", VERDICT_UNKNOWN, REASON_UNKNOWN_BRIDGE},
        };
        struct tree *t = *state;

        tree_write(t, "sys/devices/pci0/usb2/2-1/bcdDevice", "0214\n");
        write_compatible(t, PI, sizeof(PI));
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct decision decision;
                struct facts f;

                complete(t, table[i].record, &f);
                decide(&f, &decision);
                if (f.verdict != table[i].verdict || decision.reason != table[i].reason)
                        fail_msg("row %zu: %s, %s", i, verdict_to_string(f.verdict),
                                 reason_to_string(decision.reason));
        }
}

/* An entry that uasd-switch has added for the bind of a like disk does not decide about this one.
 */
static void test_bind_under_way(void **state)
{
        static const struct {
                const char *quirks, *record, *others;
        } table[] = {
                {"1209:5a5a:u,1:2:u", NULL, "1209:5a5a:u,1:2:u"},
                {"1209:5a5a:u,1:2:u", "ENTRY=1209:5a5a:u\n", "1:2:u"},
                {"1209:5a5a:u,1209:5a5a:u", "ENTRY=1209:5a5a:u\n", "1209:5a5a:u"},
                {"1209:5a5a:u", "ENTRY=1:2:u\n", "1209:5a5a:u"},
        };
        struct tree *t = *state;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts f;

                tree_write(t, "sys/module/usb_storage/parameters/quirks", table[i].quirks);
                if (table[i].record)
                        tree_write(t, "run/uasd/quirks.bind", table[i].record);
                complete(t, "", &f);
                assert_string_equal(f.quirks, table[i].others);
        }
}

/* udev escapes names, but not the serial number. It has the same key as in uasd. */
static void test_strings(void **state)
{
        struct usb_disk d = {};
        char here[USB_ID_MAX], there[USB_ID_MAX];
        struct facts f = {.port = "2-1", .manufacturer = "from before"};
        struct tree *t = *state;

        tree_write(
                t, RECORD,
                "I:1\nE:ID_VENDOR_ENC=A\\x20\\x26\\x20B\nE:ID_MODEL_ENC=Fast\\x20\\x20Disk\\x2f\nE:ID_SERIAL_SHORT=AB_12\\x41\n");
        strings_from_udev(&t->roots, &f);
        assert_string_equal(f.manufacturer, "A & B");
        assert_string_equal(f.product, "Fast  Disk/");
        assert_string_equal(f.serial, "AB_12\\x41");
        tree_write(t, DEVICE "serial", " AB 12\\x41 \n");
        assert_int_equal(usb_disk_read(&t->roots, TREE_INTERFACE, true, &d), 1);
        f.vid = d.facts.vid;
        f.pid = d.facts.pid;
        assert_string_equal(history_usb_id(&d.facts, here, sizeof(here)),
                            history_usb_id(&f, there, sizeof(there)));
        usb_disk_done(&d);
        tree_write(t, RECORD, "I:1\n");
        strings_from_udev(&t->roots, &f);
        assert_string_equal(f.manufacturer, "");
        assert_string_equal(f.product, "");
}

/* udev's rules may name a policy. The marks of the attachment add a request and its trouble. */
static void test_policy_and_marks(void **state)
{
        static const struct {
                const char *record, *marks;
                enum policy policy;
                enum policy_source source;
                enum driver target;
                bool forced;
                const char *trouble;
                enum blame cause;
        } marked[] = {
                /* clang-format off */
                {"I:1\n", "", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false, NULL, BLAME_NONE},
                {"I:1\nE:UASD_POLICY=ignore\n", "", POLICY_IGNORE, POLICY_BY_UDEV, DRIVER_NONE, false, NULL, BLAME_NONE},
                {"I:1\nE:UASD_POLICY=auto\n", "", POLICY_AUTO, POLICY_BY_UDEV, DRIVER_NONE, false, NULL, BLAME_NONE},
                {"I:1\nE:UASD_POLICY=nonsense\n", "", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false, NULL, BLAME_NONE},
                {"I:1\n", "OVERRIDE=uas\nOVERRIDE_FORCED=1\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_UAS, true, NULL, BLAME_NONE},
                {"I:1\n", "OVERRIDE=usb-storage\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_USB_STORAGE, false, NULL, BLAME_NONE},
                {"I:1\n", "TROUBLE=cable it could not be enumerated\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false,
                 "it could not be enumerated", BLAME_CABLE},
                {"I:1\n", "TROUBLE=gremlin it could not be enumerated\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false,
                 "it could not be enumerated", BLAME_NONE},
                {"I:1\n", "TROUBLE=cable something of another version\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false, NULL, BLAME_NONE},
                {"I:1\n", "TROUBLE=cable\n", POLICY_AUTO, POLICY_BY_NOBODY, DRIVER_NONE, false, NULL, BLAME_NONE},
                /* clang-format on */
        };
        struct tree *t = *state;

        for (size_t i = 0; i < ELEMENTSOF(marked); i++) {
                struct facts f;

                tree_write(t, tree_attachment(t, "attachment"), marked[i].marks);
                complete(t, marked[i].record, &f);
                if (f.policy != marked[i].policy || f.policy_source != marked[i].source ||
                    f.policy_forced || f.override_target != marked[i].target ||
                    f.override_forced != marked[i].forced ||
                    !streq(f.trouble ?: "", marked[i].trouble ?: "") ||
                    f.trouble_cause != marked[i].cause)
                        fail_msg("row %zu: %s by %s, to %s, %s", i, policy_to_string(f.policy),
                                 policy_source_to_string(f.policy_source),
                                 driver_to_string(f.override_target), f.trouble ?: "no trouble");
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_platform, make, done),
                cmocka_unit_test_setup_teardown(test_asked_of_udev, make, done),
                cmocka_unit_test_setup_teardown(test_decides, make, done),
                cmocka_unit_test_setup_teardown(test_strings, make, done),
                cmocka_unit_test_setup_teardown(test_bind_under_way, make, done),
                cmocka_unit_test_setup_teardown(test_policy_and_marks, make, done),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
