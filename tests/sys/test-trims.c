/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stored TRIM settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/state/settings.h"
#include "sys/state/trims.h"
#include "tree.h"

#define SCSI TREE_DIR "/host0/target0:0:0/0:0:0:0"
#define MAX UINT64_C(2146435072)

static struct facts disk(const char *serial, const char *port)
{
        struct facts f = {.vid = 0x1209,
                          .pid = 0x5a5a,
                          .speed_mbps = 5000,
                          .busnum = 2,
                          .controller_device = "0000:00:14.0"};

        (void) copy_string(f.serial, sizeof(f.serial), serial);
        (void) copy_string(f.port, sizeof(f.port), port);
        return f;
}

static uint64_t kept(struct tree *t, const struct facts *f, unsigned lun)
{
        uint64_t max = 0;
        int k = trims_lookup(&t->roots, f, lun, "sda", &max);

        assert_true(k >= 0);
        return k == TRIM_KEPT ? max : UINT64_MAX;
}

/* The disk in the tree, and its medium as a LUN of the setting. */
static struct trim_lun make(struct tree *t, unsigned lun, uint64_t max)
{
        struct trim_lun l = {.lun = lun, .max_bytes = max};

        if (!tree_exists(t, "sys/block/sda")) {
                tree_link(t, SCSI "/block/sda/device", "../..");
                tree_link(t, "sys/block/sda", "../class/block/sda");
                tree_write(t, SCSI "/vendor", "ATA     \n");
                tree_write(t, SCSI "/model", "Disk A          \n");
                tree_write(t, SCSI "/rev", "1.00\n");
        }
        trim_read_medium(&t->roots, "sda", &l.medium);
        return l;
}

static void test_kept(void **state)
{
        const struct facts one = disk("ONE", "2-1"), elsewhere = disk("ONE", "2-2"),
                           two = disk("TWO", "2-1"), nameless = disk("", "2-3");
        struct trim_lun luns[2];
        struct tree t;

        tree_make(&t);
        luns[0] = make(&t, 0, MAX);
        luns[1] = make(&t, 3, 0);
        assert_true(luns[0].medium.size > 0 && luns[0].medium.inquiry && !luns[0].medium.serial);
        assert_int_equal(kept(&t, &one, 0), UINT64_MAX);
        assert_int_equal(trims_store(&t.roots, &one, false, luns, 2), 0);
        assert_int_equal(kept(&t, &one, 0), MAX);
        assert_int_equal(kept(&t, &elsewhere, 3), 0);
        assert_int_equal(kept(&t, &one, 1), UINT64_MAX);
        assert_int_equal(kept(&t, &two, 0), UINT64_MAX);
        assert_non_null(strstr(tree_read(&t, "etc/uasd/trim"), "\n1209:5a5a:ONE=on 0:2146435072:"));

        /* A disk without a serial number is known by its port. So is one of two twins, which may
         * differ there. */
        assert_int_equal(trims_store(&t.roots, &nameless, false, luns, 1), 0);
        assert_int_equal(kept(&t, &nameless, 0), MAX);
        assert_int_equal(trims_store(&t.roots, &elsewhere, true, NULL, 0), 0);
        assert_int_equal(kept(&t, &elsewhere, 0), UINT64_MAX);
        assert_int_equal(kept(&t, &one, 0), MAX);

        /* After its removal nothing is left. The policies are in another file. */
        assert_int_equal(trims_store(&t.roots, &one, false, NULL, 0), 0);
        assert_int_equal(kept(&t, &one, 0), UINT64_MAX);
        assert_null(strstr(tree_read(&t, "etc/uasd/trim"), "ONE=on"));
        assert_false(tree_exists(&t, "etc/uasd/policy"));
        tree_remove(&t);
}

static void test_nonsense(void **state)
{
        const char *const lines[] = {"on",
                                     "on x",
                                     "on 0",
                                     "on 0:",
                                     "on 0:-1",
                                     "on :5",
                                     "off 0:5",
                                     "ON 0:5",
                                     "on 1:5",
                                     "on 00000000000:5x",
                                     "on 0:5",
                                     "on 0:5:",
                                     "on 0:5:0:0:0",
                                     "on 0:5:512:0:0:forced",
                                     "on 0:5:512:0:0:0"};
        const struct facts f = disk("ONE", "2-1");
        char text[80];
        struct tree t;

        tree_make(&t);
        (void) make(&t, 0, 0);
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                (void) snprintf(text, sizeof(text), "1209:5a5a:ONE=%s\n", lines[i]);
                tree_write(&t, "etc/uasd/trim", text);
                if (kept(&t, &f, 0) != UINT64_MAX)
                        fail_msg("%s", lines[i]);
        }
        tree_remove(&t);
}

/* The setting is for the disk that was behind the bridge then. */
static void test_medium(void **state)
{
        static const struct {
                const char *what, *file, *text;
                bool forced;
                enum trim_kept kept;
        } changes[] = {
                {"nothing", NULL, NULL, false, TRIM_KEPT},
                {"another product", SCSI "/model", "Disk B          \n", false,
                 TRIM_KEPT_FOR_ANOTHER},
                {"the same, by --force", SCSI "/model", "Disk B          \n", true,
                 TRIM_KEPT_FOR_ANOTHER},
                {"another vendor", SCSI "/vendor", "WDC     \n", false, TRIM_KEPT_FOR_ANOTHER},
                {"another revision", SCSI "/rev", "2.00\n", false, TRIM_KEPT_FOR_ANOTHER},
                {"another size", SCSI "/block/sda/size", "4096\n", false, TRIM_KEPT_FOR_ANOTHER},
                {"no medium", SCSI "/block/sda/size", "0\n", false, TRIM_KEPT_FOR_ANOTHER},
                {"another serial number", SCSI "/vpd_pg80", "B", false, TRIM_KEPT_FOR_ANOTHER},
                {"usb-storage shows no page", SCSI "/vpd_pg80", NULL, false, TRIM_KEPT},
                {"the offer has gone", SCSI "/vpd_pgb2", "\1\xb2\1\4\1\1\2", false,
                 TRIM_NOT_OFFERED},
                {"there was none, by --force", SCSI "/vpd_pgb2", "\1\xb2\1\4\1\1\2", true,
                 TRIM_KEPT},
        };
        const struct facts f = disk("ONE", "2-1");

        for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                struct trim_lun lun;
                struct tree t;
                uint64_t max;

                tree_make(&t);
                (void) make(&t, 0, MAX);
                tree_write(&t, SCSI "/vpd_pg80", "A");
                lun = make(&t, 0, MAX);
                lun.forced = changes[i].forced;
                assert_int_equal(trims_store(&t.roots, &f, false, &lun, 1), 0);
                if (changes[i].text)
                        tree_write(&t, changes[i].file, changes[i].text);
                else if (changes[i].file)
                        tree_unlink(&t, changes[i].file);
                if (trims_lookup(&t.roots, &f, 0, "sda", &max) != (int) changes[i].kept)
                        fail_msg("%s", changes[i].what);
                tree_remove(&t);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_nonsense),
                cmocka_unit_test(test_medium),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
