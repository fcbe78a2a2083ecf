/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bridges that an initramfs keeps off uas, from files of a machine in a temporary folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../sys/tree.h"
#include "common/util.h"
#include "core/history.h"
#include "core/keepoff.h"
#include "hold/early.h"
#include "hold/quirks.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/modprobed.h"

#define KERNEL "6.1.0-1"
#define PASSED "=state=passed firmware=0100 kernel=" KERNEL " boot=- date=- reason=\n"
#define DISTRUSTED "=state=distrusted firmware=0100 kernel=" KERNEL " boot=- date=- reason=resets\n"
#define OPEN "=state=trial firmware=0100 kernel=" KERNEL " boot=now date=- reason=\n"
#define DIED "=state=trial firmware=0100 kernel=" KERNEL " boot=before date=- reason=\n"
#define PORT "@0000:00:14.0/ss/1.4"

static const char *made(struct tree *t, const char *path)
{
        char dir[128];

        (void) snprintf(dir, sizeof(dir), "%s/new", t->path);
        tree_write(t, "new/.keep", "");
        assert_int_equal(hold_quirks(&t->roots, KERNEL, dir), 0);
        return tree_read(t, path);
}

static void test_words(void **state)
{
        static const struct {
                const char *policy, *history, *conf, *own; /* NULL: no file */
        } table[] = {
                {"", "", "", NULL},
                {"1209:5a5a:ONE=usb-storage\n", "", "", "1209:5a5a:u"},
                {"1209:5a5a:" PORT "=usb-storage\n", "", "", "1209:5a5a:u"},
                {"1209:5a5a:ONE=uas\n", "", "", NULL},
                /* Two with the same serial number: each has its own policy, and the kernel cannot
                   distinguish them. */
                {"1209:5a5a:ONE" PORT "=usb-storage\n", "", "", "1209:5a5a:u"},
                {"1209:5a5a:ONE" PORT "=usb-storage\n1209:5a5a:ONE@0000:00:14.0/ss/1.3=uas\n", "",
                 "", NULL},
                {"1209:5a5a:ONE" PORT
                 "=usb-storage\n1209:5a5a:ONE@0000:00:14.0/ss/1.3=usb-storage\n",
                 "", "", "1209:5a5a:u"},
                {"1209:5a5a:ONE@0000:00:14.0/ss/1.3=uas\n1209:5a5a:ONE=usb-storage\n", "", "",
                 NULL},
                {"1209:5a5a:ONE=nonsense\n12:=usb-storage\n", "", "", NULL},
                {"", "1209:5a5a:ONE" PORT DISTRUSTED, "", "1209:5a5a:u"},
                {"", "1209:5a5a:ONE" PORT DIED, "", "1209:5a5a:u"},
                {"", "1209:5a5a:ONE" PORT OPEN, "", NULL},
                {"",
                 "1209:5a5a:ONE" PORT
                 "=state=distrusted firmware=0100 kernel=other boot=- date=- reason=\n",
                 "", NULL},
                /* A trial that the same disk passed does not override its policy. A trial of
                   another disk of the model does. */
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:ONE" PORT PASSED, "", "1209:5a5a:u"},
                {"1209:5a5a:" PORT "=usb-storage\n", "1209:5a5a:" PORT PASSED, "", "1209:5a5a:u"},
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:TWO" PORT PASSED, "", NULL},
                {"1209:5a5a:@0000:00:14.0/ss/1.3=usb-storage\n", "1209:5a5a:" PORT PASSED, "",
                 NULL},
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:TWO" PORT OPEN, "", NULL},
                {"", "", "[Disk 1209:5a5a]\nPolicy=usb-storage\n", "1209:5a5a:u"},
                {"1209:5a5a:ONE=uas\n", "", "[Disk 1209:5a5a]\nPolicy=usb-storage\n", NULL},
                {"", "1209:5a5a:ONE" PORT PASSED, "[Disk 1209:5a5a:ONE]\nPolicy=usb-storage\n",
                 "1209:5a5a:u"},
                /* uasd knows only the disks that have a record. */
                {"", "1209:5a5a:ONE" PORT PASSED, "[uasd]\nPolicy=usb-storage\n", "1209:5a5a:u"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char wanted[64] = "";
                const char *text;
                struct tree t;

                tree_make(&t);
                tree_boot_kernel(&t, "another");
                tree_write(&t, "proc/sys/kernel/random/boot_id", "now\n");
                tree_write(&t, "etc/uasd/policy", table[i].policy);
                tree_write(&t, "etc/uasd/history", table[i].history);
                tree_write(&t, "etc/uasd/uasd.conf", table[i].conf);
                text = made(&t, "new/etc/uasd/quirks");
                if (table[i].own)
                        (void) snprintf(wanted, sizeof(wanted), "quirks=%s\n", table[i].own);
                if (!streq(text ? text : "", wanted))
                        fail_msg("row %zu: %s", i, text ? text : "nothing");
                tree_remove(&t);
        }
}

static void test_modprobe(void **state)
{
        static const struct {
                const char *a, *b, *quirks;
        } table[] = {
                {"", "", ""},
                {"options usb-storage quirks=1:2:u\n", "", "1:2:u"},
                {"options usb_storage delay_use=5 quirks=1:2:u,3:4:f other=1\n", "", "1:2:u,3:4:f"},
                {"options  usb-storage\t\\\n quirks=\"1:2:u\"\n",
                 "# options usb-storage quirks=9:9:u\n", "1:2:u"},
                {"options usb-storage \"quirks=1:2:u\"\n", "options uas quirks=9:9:u\n", "1:2:u"},
                {"options usb-storage quirks=1:2:u\n", "options usb-storage quirks=3:4:u", "3:4:u"},
                {"options usb-storage quirks=1:2:u quirks=5:6:u\n",
                 "options usb-storage xquirks=3:4:u\n", "5:6:u"},
                {"options usb-storage quirks=1:2:u\\", "options\noptions usb-storage\n\\\n",
                 "1:2:u\\"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char quirks[QUIRKS_MAX + 1];
                struct tree t;

                tree_make(&t);
                tree_write(&t, "etc/modprobe.d/a.conf", table[i].a);
                tree_write(&t, "usr/lib/modprobe.d/a.conf", "options usb-storage quirks=hidden\n");
                tree_write(&t, "usr/lib/modprobe.d/b.conf", table[i].b);
                tree_write(&t, "etc/modprobe.d/c.conf~", "options usb-storage quirks=none\n");
                assert_int_equal(modprobe_quirks(&t.roots, quirks), 0);
                if (!streq(quirks, table[i].quirks))
                        fail_msg("row %zu: %s", i, quirks);
                tree_remove(&t);
        }
}

/* Without an entry root is mounted; with one root would have no driver. So there is none, whatever
 * the policy is. */
static void test_uas_alone(void **state)
{
        static const char bot[] = "1209:5a5a:ONE=usb-storage\n",
                          other[] = "1209:5a5b:TWO=usb-storage\n";
        struct tree t;

        tree_make(&t);
        tree_write(&t, "etc/uasd/policy", bot);
        tree_uas_alone(&t);
        assert_null(made(&t, "new/etc/uasd/quirks"));
        tree_write(&t, "etc/uasd/policy", other);
        assert_string_equal(made(&t, "new/etc/uasd/quirks"), "quirks=1209:5a5b:u\n");
        tree_remove(&t);
}

/* A disk has the same name in the files and in uasd. */
static void test_names(void **state)
{
        static const struct {
                const char *serial;
                bool twin;
                const char *policy, *name;
        } table[] = {
                {"ONE", false, "1209:5a5a:ONE=usb-storage\n", "ONE"},
                {"ONE", true, "1209:5a5a:ONE" PORT "=usb-storage\n", "ONE@1.4"},
                {"", false, "1209:5a5a:" PORT "=usb-storage\n", "@1.4"},
                {"a=b", false, "1209:5a5a:a\\x3db=usb-storage\n", "a\\x3db"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts f = {.vid = 0x1209,
                                  .pid = 0x5a5a,
                                  .speed_mbps = 5000,
                                  .port = "2-1.4",
                                  .controller_device = "0000:00:14.0"};
                struct kept_disks kept = {};
                char name[HISTORY_KEY_MAX];
                struct kept_disk *disk;
                struct config c;
                struct tree t;

                tree_make(&t);
                tree_write(&t, "etc/uasd/policy", table[i].policy);
                (void) copy_string(f.serial, sizeof(f.serial), table[i].serial);
                config_init(&c);
                assert_int_equal(kept_disks_read(&t.roots, &c, KERNEL, &kept), 0);
                assert_string_equal(kept_name(&f, table[i].twin, name, sizeof(name)),
                                    table[i].name);
                disk = kept_disk_find(&kept, 0x1209, 0x5a5a, name);
                assert_non_null(disk);
                assert_int_equal(disk->policy, POLICY_USB_STORAGE);
                assert_int_equal(kept.n, 1);
                kept_disks_done(&kept);
                config_done(&c);
                tree_remove(&t);
        }
}

/* A key in a file has "=" escaped, and a section of uasd.conf has not. */
static void test_configured(void **state)
{
        struct kept_disks kept = {};
        struct kept_disk *disk;
        struct config c;
        struct tree t;

        tree_make(&t);
        tree_write(&t, "etc/uasd/history",
                   "generation=1\n1209:5a5a:a\\x3db" PORT
                   "=state=passed firmware=0100 kernel=6.1.0 boot=- date=- reason=-\n");
        config_init(&c);
        assert_int_equal(config_set(&c, "Disk 1209:5a5a:a=b", "Policy", "usb-storage"), 0);
        assert_int_equal(kept_disks_read(&t.roots, &c, KERNEL, &kept), 0);
        assert_null(kept_disk_find(&kept, 0x1209, 0x5a5a, "a=b"));
        disk = kept_disk_find(&kept, 0x1209, 0x5a5a, "a\\x3db");
        assert_non_null(disk);
        assert_int_equal(disk->policy, POLICY_USB_STORAGE);
        kept_disks_done(&kept);
        config_done(&c);
        tree_remove(&t);
}

static void test_files(void **state)
{
        char entry[QUIRK_ENTRY_MAX], long_line[300];
        const char *text;
        struct tree t;

        tree_make(&t);
        tree_write(&t, "etc/uasd/policy", "1209:5a5a:ONE=usb-storage\n");
        tree_write(&t, "etc/modprobe.d/a.conf", "options usb-storage quirks=1:2:u\n");
        text = made(&t, "new/etc/modprobe.d/" MODPROBE_FILE);
        assert_non_null(text);
        assert_non_null(strstr(text, "\noptions usb-storage quirks=1209:5a5a:u,1:2:u\n"));
        /* In the initramfs a script copies the other file to this path: */
        keepoff_own(&t.roots, 0x1209, 0x5a5a, entry);
        assert_string_equal(entry, "");
        tree_write(&t, "run/uasd/quirks", "quirks=2:2:u,1209:5a5a:u\n");
        keepoff_own(&t.roots, 0x1209, 0x5a5a, entry);
        assert_string_equal(entry, "1209:5a5a:u");
        keepoff_own(&t.roots, 2, 2, entry);
        assert_string_equal(entry, "2:2:u");
        tree_remove(&t);

        /* With a longer string the kernel would not load usb-storage at all. */
        tree_make(&t);
        tree_write(&t, "etc/uasd/policy", "1209:5a5a:ONE=usb-storage\n");
        (void) snprintf(long_line, sizeof(long_line), "options usb-storage quirks=%0200d\n", 0);
        tree_write(&t, "etc/modprobe.d/a.conf", long_line);
        assert_null(made(&t, "new/etc/modprobe.d/" MODPROBE_FILE));
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),      cmocka_unit_test(test_modprobe),
                cmocka_unit_test(test_uas_alone),  cmocka_unit_test(test_names),
                cmocka_unit_test(test_configured), cmocka_unit_test(test_files),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
