/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The quirks parameter follows the kept policies and records. uasd remembers which entries it made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/param.h"
#include "tree.h"

#define OTHER "8:8:abcdefghijklmnop,"
#define OTHERS OTHER OTHER OTHER OTHER OTHER "9:9:abcdef"
_Static_assert(sizeof("1209:5a5a:u," OTHERS) == QUIRKS_MAX + 1, "");

static void test_apply(void **state)
{
        static const struct {
                const char *policy, *parameter, *own;
                bool unknown; /* the kept policies and records are not all known */
                int changed;
                const char *parameter_then, *own_then;
        } table[] = {
                {"", "", "", false, 0, "", ""},
                {"", "9:9:f", "", false, 0, "9:9:f", ""},
                {"1209:5a5a:ONE=usb-storage\n", "9:9:f", "", false, 1, "1209:5a5a:u,9:9:f",
                 "1209:5a5a:u"},
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:u,9:9:f", "1209:5a5a:u", false, 0,
                 "1209:5a5a:u,9:9:f", "1209:5a5a:u"},
                /* Another program removed the entry; uasd was killed before it wrote the entry. */
                {"1209:5a5a:ONE=usb-storage\n", "9:9:f", "1209:5a5a:u", false, 1,
                 "1209:5a5a:u,9:9:f", "1209:5a5a:u"},
                {"", "1209:5a5a:u,9:9:f", "1209:5a5a:u", false, 1, "9:9:f", ""},
                {"1209:5a5b:TWO=usb-storage\n", "1209:5a5a:u,9:9:f", "1209:5a5a:u", false, 1,
                 "1209:5a5b:u,9:9:f", "1209:5a5b:u"},
                {"1209:5a5a:ONE=usb-storage\n1209:5a5b:TWO=usb-storage\n", "", "", false, 1,
                 "1209:5a5b:u,1209:5a5a:u", "1209:5a5b:u,1209:5a5a:u"},
                /* Another program has the same entry. It suffices, and it is not ours. */
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:u", "", false, 0, "1209:5a5a:u", ""},
                {"", "1209:5a5a:u", "", false, 0, "1209:5a5a:u", ""},
                {"1209:5a5a:ONE=usb-storage\n", "1209:5a5a:f", "", false, 1,
                 "1209:5a5a:fu,1209:5a5a:f", "1209:5a5a:fu"},
                /* /var is not mounted yet: the entry that the initramfs made for a record there
                   stays. */
                {"", "1209:5a5a:u,9:9:f", "1209:5a5a:u", true, 0, "1209:5a5a:u,9:9:f",
                 "1209:5a5a:u"},
                {"1209:5a5b:TWO=usb-storage\n", "1209:5a5a:u,9:9:f", "1209:5a5a:u", true, 1,
                 "1209:5a5b:u,1209:5a5a:u,9:9:f", "1209:5a5a:u,1209:5a5b:u"},
                /* The longest parameter. Its last entry is of another program. */
                {"", "1209:5a5a:u," OTHERS, "1209:5a5a:u", false, 1, OTHERS, ""},
                /* Same model, and wanted on uas. */
                {"1209:5a5a:ONE=usb-storage\n1209:5a5a:TWO=uas\n", "", "", false, 0, "", ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char parameter[QUIRKS_MAX + 1], own[QUIRKS_MAX + 1], text[QUIRKS_MAX + 16];
                struct keepoff made = {};
                struct kept_disks kept;
                struct config c;
                struct tree t;
                int k;

                tree_make(&t);
                config_init(&c);
                tree_write(&t, "etc/uasd/policy", table[i].policy);
                (void) snprintf(text, sizeof(text), "%s\n", table[i].parameter);
                tree_write(&t, "sys/module/usb_storage/parameters/quirks", text);
                (void) snprintf(text, sizeof(text), "quirks=%s\n", table[i].own);
                tree_write(&t, "run/uasd/quirks", text);
                assert_int_equal(kept_disks_read(&t.roots, &c, "6.1.0", &kept), 0);
                assert_int_equal(kept_disks_read_plugged(&t.roots, &kept), 0);
                k = keepoff_apply(&t.roots, &kept, !table[i].unknown, &made);
                assert_int_equal(quirks_param_read(&t.roots, parameter), 0);
                keepoff_own_all(&t.roots, own);
                if (k != table[i].changed || !streq(parameter, table[i].parameter_then) ||
                    !streq(own, table[i].own_then) || (k >= 0 && !streq(made.own, own)))
                        fail_msg("row %zu: %i, \"%s\", ours \"%s\", told \"%s\"", i, k, parameter,
                                 own, made.own);
                /* A second look finds nothing to do. */
                keepoff_done(&made);
                assert_int_equal(keepoff_apply(&t.roots, &kept, !table[i].unknown, &made), 0);
                keepoff_done(&made);
                kept_disks_done(&kept);
                config_done(&c);
                tree_remove(&t);
        }
}

/* The entry of a bind whose switch was killed or could not remove it. */
static void test_left_by_bind(void **state)
{
        static const struct {
                const char *record, *parameter, *then;
                bool gone; /* the module */
                bool stays;
        } table[] = {
                {"ENTRY=1:2:u\n", "1:2:u,9:9:f", "9:9:f", false, false},
                {"ENTRY=1:2:u\n", "9:9:f,1:2:u,1:2:u", "9:9:f,1:2:u", false, false},
                {"ENTRY=1:2:u\n", "9:9:f", "9:9:f", false, false}, /* killed before the write */
                {"ENTRY=1:2:u\n", NULL, NULL, true, false},
                {"ENTRY=\n", "9:9:f", "9:9:f", false, true},
                {"rubbish", "9:9:f", "9:9:f", false, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char parameter[QUIRKS_MAX + 1], entry[QUIRK_ENTRY_MAX];
                struct tree t;
                int lock;

                tree_make(&t);
                tree_write(&t, "run/uasd/quirks.bind", table[i].record);
                tree_write(&t, "sys/module/usb_storage/parameters/quirks",
                           table[i].parameter ? table[i].parameter : "");
                if (table[i].gone)
                        assert_int_equal(unlinkat(t.roots.sys, SYSFS_QUIRKS, 0), 0);
                lock = quirks_lock(&t.roots, 0);
                assert_true(lock >= 0);
                if (!table[i].gone) {
                        assert_int_equal(quirks_param_read(&t.roots, parameter), 0);
                        assert_string_equal(parameter, table[i].then);
                }
                assert_int_equal(faccessat(t.roots.run, RUN_QUIRKS_BIND, F_OK, 0),
                                 table[i].stays ? 0 : -1);
                /* The next bind makes its own entry in any case. */
                if (!table[i].gone) {
                        assert_int_equal(quirks_bind_begin(&t.roots, "3:4:u"), 0);
                        assert_int_equal(quirks_bind_read(&t.roots, entry), 1);
                        assert_string_equal(entry, "3:4:u");
                        assert_int_equal(quirks_param_read(&t.roots, parameter), 0);
                        assert_memory_equal(parameter, "3:4:u,", 6);
                        assert_int_equal(quirks_bind_begin(&t.roots, "5:6:u"),
                                         -EBUSY); /* there is one record, for one entry */
                        assert_int_equal(quirks_bind_end(&t.roots), 0);
                        assert_int_equal(quirks_param_read(&t.roots, parameter), 0);
                        assert_string_equal(parameter, table[i].then);
                }
                (void) close(lock);
                tree_remove(&t);
        }
}

/* Another program undoes each write at once, as /dev/null does. */
static void test_written_by_another(void **state)
{
        struct tree t;

        tree_make(&t);
        tree_link(&t, "sys/module/usb_storage/parameters/quirks", "/dev/null");
        assert_int_equal(quirks_param_push(&t.roots, "3:4:u"), -EAGAIN);
        tree_remove(&t);
}

static void test_apply_not(void **state)
{
        struct kept_disks kept = {};
        struct keepoff made = {};
        struct tree t;
        int lock;

        tree_make(&t);
        assert_int_equal(unlinkat(t.roots.sys, SYSFS_QUIRKS, 0), 0);
        assert_int_equal(keepoff_apply(&t.roots, &kept, true, &made), -ENOENT);
        lock = quirks_lock(&t.roots, 0);
        assert_true(lock >= 0);
        assert_int_equal(keepoff_apply(&t.roots, &kept, true, &made), -ETIMEDOUT);
        (void) close(lock);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_apply),
                cmocka_unit_test(test_left_by_bind),
                cmocka_unit_test(test_written_by_another),
                cmocka_unit_test(test_apply_not),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
