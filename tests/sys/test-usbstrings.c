/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The strings of a USB device. If they are stored, its attributes are not read. They are not used
 * for another device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../patience.h"
#include "common/util.h"
#include "sys/state/attachment.h"
#include "sys/usb/usbdisk.h"
#include "tree.h"

#define DEVICE "sys/devices/pci0/usb2/2-1/"
#define KEPT tree_attachment(&t, "strings")

static void make(struct tree *t)
{
        (void) umask(022);
        tree_make(t);
        tree_write(t, DEVICE "manufacturer", "Fast\n");
        tree_write(t, DEVICE "product", "Disk\n");
        tree_write(t, DEVICE "serial", "SN1\n");
}

/* A read of the attribute hangs forever, as behind the lock of a device. */
static void hang(struct tree *t, const char *attribute)
{
        char path[300];

        (void) snprintf(path, sizeof(path), DEVICE "%s", attribute);
        tree_unlink(t, path);
        (void) snprintf(path, sizeof(path), "%s/" DEVICE "%s", t->path, attribute);
        assert_int_equal(mkfifo(path, 0600), 0);
}

/* Reads the disk. Returns true if the strings came from the device. */
static bool look(struct tree *t, struct facts *ret)
{
        struct usb_disk d = {0};
        bool anew;

        (void) alarm((unsigned) patience(10));
        assert_int_equal(usb_disk_read(&t->roots, TREE_INTERFACE, true, &d), 1);
        (void) alarm(0);
        *ret = d.facts;
        anew = d.strings_anew;
        usb_disk_done(&d);
        return anew;
}

static void test_kept(void **state)
{
        struct facts f;
        struct tree t;

        make(&t);
        assert_true(look(&t, &f));
        assert_false(tree_exists(&t, KEPT)); /* a reader stores nothing */
        assert_int_equal(strings_keep(&t.roots, &f), 0);
        hang(&t, "manufacturer");
        hang(&t, "product");
        hang(&t, "serial");
        assert_false(look(&t, &f));
        assert_string_equal(f.manufacturer, "Fast");
        assert_string_equal(f.product, "Disk");
        assert_string_equal(f.serial, "SN1");
        tree_remove(&t);
}

static void test_without_serial(void **state)
{
        struct facts f;
        struct tree t;

        make(&t);
        tree_unlink(&t, DEVICE "serial");
        assert_true(look(&t, &f)); /* the absence of a string is stored as well */
        assert_int_equal(strings_keep(&t.roots, &f), 0);
        hang(&t, "serial");
        assert_false(look(&t, &f));
        assert_string_equal(f.serial, "");
        tree_remove(&t);
}

/* A device that did not answer is not stored as one without a name. */
static void test_unreadable(void **state)
{
        struct facts f;
        struct tree t;

        make(&t);
        tree_unlink(&t, DEVICE "serial");
        tree_write(&t, DEVICE "serial/it", "is a folder\n");
        assert_false(look(&t, &f));
        assert_string_equal(f.product, "Disk");
        tree_remove(&t);
}

static void test_hostile(void **state)
{
        static char longest[256], worst[USB_STRING_MAX];
        const char *const strings[] = {
                "",
                " ",
                "=",
                "a=b",
                "#",
                "\n",
                "\n\n",
                "a\nSERIAL=other",
                "a\nVID=0000\n",
                "\r\t\x1b[2J",
                "\\",
                "\\x41",
                "\\x5cx41",
                "\\x",
                "\xff\xfe\x80",
                "caf\xc3\xa9",
                "\xe2\x80\xae"
                "evil",
                "\xed\xa0\x80",
                "\xf0\x9f\x92\xbe",
                "|",
                " both ends ",
                longest,
                worst,
        };
        struct tree t;

        memset(longest, '=', sizeof(longest) - 1);
        memset(worst, '\x01', sizeof(worst) - 1);
        make(&t);
        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                struct facts f, kept;

                assert_true(look(&t, &f));
                (void) copy_string(f.manufacturer, sizeof(f.manufacturer), strings[i]);
                (void) copy_string(f.product, sizeof(f.product),
                                   strings[ELEMENTSOF(strings) - 1 - i]);
                (void) copy_string(f.serial, sizeof(f.serial), strings[i]);
                assert_int_equal(strings_keep(&t.roots, &f), 0);
                assert_false(look(&t, &kept));
                assert_memory_equal(kept.manufacturer, f.manufacturer, strlen(f.manufacturer) + 1);
                assert_memory_equal(kept.product, f.product, strlen(f.product) + 1);
                assert_memory_equal(kept.serial, f.serial, strlen(f.serial) + 1);
                tree_unlink(&t, KEPT);
        }
        tree_remove(&t);
}

/* The same from the attribute: the kernel adds one newline. Such a serial number does not count. */
static void test_hostile_in_sysfs(void **state)
{
        struct facts f, kept;
        struct tree t;

        make(&t);
        tree_write(&t, DEVICE "product", "a\nSERIAL=b\xff\\x41\n\n");
        tree_write(&t, DEVICE "serial", "a\nSERIAL=b\xff\\x41\n\n");
        assert_true(look(&t, &f));
        assert_string_equal(f.product, "a\nSERIAL=b\xff\\x41\n");
        assert_string_equal(f.serial, "");
        assert_int_equal(strings_keep(&t.roots, &f), 0);
        assert_false(look(&t, &kept));
        assert_string_equal(kept.product, f.product);
        assert_string_equal(kept.serial, f.serial);
        tree_remove(&t);
}

static void test_another(void **state)
{
        static const struct {
                const char *attribute, *now;
        } table[] = {
                {"dev", "189:260\n"},
                {"dev", "189:133\n"},
                {"idVendor", "1208\n"},
                {"idProduct", "5a5b\n"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char path[100];
                struct facts f;
                struct tree t;

                make(&t);
                assert_true(look(&t, &f));
                assert_int_equal(strings_keep(&t.roots, &f), 0);
                (void) snprintf(path, sizeof(path), DEVICE "%s", table[i].attribute);
                tree_write(&t, path, table[i].now);
                tree_write(&t, DEVICE "serial", "SN2\n");
                if (!look(&t, &f) || !streq(f.serial, "SN2"))
                        fail_msg("%s: taken for the one before", table[i].attribute);
                tree_remove(&t);
        }
}

/* Files that are cut short or made by hand. */
static void test_not_whole(void **state)
{
        static const char *const files[] = {
                "",
                "VID=1209\nPID=5a5a\nMANUFACTURER=M\nPRODUCT=P\n",
                "VID=1209\nPID=5a5a\nMANUFACTURER=M\nSERIAL=S\n",
                "VID=1209\nPID=5a5a\nPRODUCT=P\nSERIAL=S\n",
                "VID=1209\nMANUFACTURER=M\nPRODUCT=P\nSERIAL=S\n",
                "PID=5a5a\nMANUFACTURER=M\nPRODUCT=P\nSERIAL=S\n",
                "VID=11209\nPID=5a5a\nMANUFACTURER=M\nPRODUCT=P\nSERIAL=S\n",
        };
        struct facts f;
        struct tree t;

        make(&t);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                tree_write(&t, KEPT, files[i]);
                if (!look(&t, &f) || !streq(f.serial, "SN1"))
                        fail_msg("it counts: %s", files[i]);
        }
        tree_write(&t, KEPT, "VID=1209\nPID=5a5a\nMANUFACTURER=M\nPRODUCT=P\nSERIAL=S\n");
        assert_false(look(&t, &f));
        assert_string_equal(f.serial, "S");
        tree_remove(&t);
}

/* There is a file instead of the folder, so even root cannot write. */
static void test_no_room(void **state)
{
        struct facts f;
        struct tree t;

        make(&t);
        tree_write(&t, "run/uasd", "");
        assert_true(look(&t, &f));
        assert_true(strings_keep(&t.roots, &f) < 0);
        assert_true(look(&t, &f));
        assert_string_equal(f.serial, "SN1");
        tree_remove(&t);
}

/* The file does not count as a mark of the attachment, and is removed with the attachment. */
static void test_no_mark(void **state)
{
        struct attachment_mark m;
        struct facts f;
        struct tree t;
        char kept[128];

        make(&t);
        assert_true(look(&t, &f));
        assert_int_equal(strings_keep(&t.roots, &f), 0);
        assert_int_equal(attachment_read(&t.roots, &f, &m), 0);
        assert_true(attachment_fresh(&t.roots, &f));
        assert_int_equal(attachments_prune(&t.roots, NULL), 0);
        (void) copy_string(kept, sizeof(kept), KEPT);
        assert_true(tree_exists(&t, kept));
        tree_write(&t, DEVICE "dev", "189:133\n");
        assert_int_equal(attachments_prune(&t.roots, NULL), 0);
        assert_false(tree_exists(&t, kept));
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_without_serial),
                cmocka_unit_test(test_unreadable),
                cmocka_unit_test(test_hostile),
                cmocka_unit_test(test_hostile_in_sysfs),
                cmocka_unit_test(test_another),
                cmocka_unit_test(test_not_whole),
                cmocka_unit_test(test_no_room),
                cmocka_unit_test(test_no_mark),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
