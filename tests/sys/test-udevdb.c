/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev's records of devices: its escapes, its properties, and when it saw a device first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/udev/udevdb.h"
#include "tree.h"

static void test_decode(void **state)
{
        static const struct {
                const char *text, *decoded;
        } table[] = {
                {"", ""},
                {"plain", "plain"},
                {"a\\x20b", "a b"},
                {"\\x20\\x2f\\x2F\\xc3\\xa4", " //\xc3\xa4"},
                {"cut short\\x2", "cut short\\x2"},
                {"cut short\\x", "cut short\\x"},
                {"cut short\\", "cut short\\"},
                {"\\x 4", "\\x 4"},
                {"\\x+4\\x-1\\xg0", "\\x+4\\x-1\\xg0"},
                {"no end\\x00here", "no end\\x00here"},
                {"\\\\x41", "\\A"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char *s = strdup(
                        table[i].text); /* of the exact size: ASan detects a read past the end */

                assert_non_null(s);
                unescape(s);
                assert_string_equal(s, table[i].decoded);
                free(s);
        }
}

/* The first line of a key counts. A value or key without room is an error, never a part of it. */
static bool tagged(const struct roots *r, const char *id, const char *tag)
{
        _cleanup_free_ char *record = udevdb_read(r, id);

        return udevdb_has_tag(record, tag);
}

static void test_properties(void **state)
{
        static const struct {
                const char *key;
                int r;
                const char *value;
        } table[] = {
                {"A", 1, "1"},
                {"B", 1, ""},
                {"C", 1, "1234567"},
                {"D", -ENAMETOOLONG, ""},
                {"E", 0, ""},
                {"F", 1, "x=y"},
                {"I", 0, ""},
                {"K23456789012345678901234567890123456789012345678901234567890", 1, "k"},
                {"K234567890123456789012345678901234567890123456789012345678901", -ENAMETOOLONG,
                 ""},
        };
        struct tree t;
        char value[8];

        tree_make(&t);
        tree_write(
                &t, "run/udev/data/b8:0",
                "I:5\nE:AA=0\nE:A=1\nE:A=2\nE:B=\nE:C=1234567\nE:D=12345678\nG:one\nG:two\nE:F=x=y\n"
                "E:K23456789012345678901234567890123456789012345678901234567890=k");
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int r;

                value[0] = '\0';
                r = udevdb_property(&t.roots, "b8:0", table[i].key, value, sizeof(value));
                if (r != table[i].r || (r > 0 && !streq(value, table[i].value)))
                        fail_msg("%s: %i %s", table[i].key, r, value);
        }
        assert_int_equal(udevdb_property(&t.roots, "b8:1", "A", value, sizeof(value)), 0);
        assert_int_equal(udevdb_property(&t.roots, "../data/b8:0", "A", value, sizeof(value)), 0);
        assert_int_equal(udevdb_property(&t.roots,
                                         "b8:000000000000000000000000000000000000000000000000000",
                                         "A", value, sizeof(value)),
                         0);
        tree_link(&t, "run/udev/data/b8:2", "b8:0");
        assert_int_equal(udevdb_property(&t.roots, "b8:2", "A", value, sizeof(value)), 0);
        assert_true(tagged(&t.roots, "b8:0", "one"));
        assert_true(tagged(&t.roots, "b8:0", "two"));
        assert_false(tagged(&t.roots, "b8:0", "on"));
        assert_false(tagged(&t.roots, "b8:0", "three"));
        assert_false(tagged(&t.roots, "b8:1", "one"));
        tree_remove(&t);
}

static void test_usb_id(void **state)
{
        char id[UDEVDB_ID_MAX] = "";
        struct tree t;

        tree_make(&t);
        assert_true(udevdb_usb_id(&t.roots, "2-1", id));
        assert_string_equal(id, "c189:132");
        assert_false(udevdb_usb_id(&t.roots, "2-2", id));
        tree_write(&t, "sys/devices/pci0/usb2/2-1/dev", "\n");
        assert_false(udevdb_usb_id(&t.roots, "2-1", id));
        tree_remove(&t);
}

static void test_initialized(void **state)
{
        static const struct {
                const char *record;
                int r;
                uint64_t usec;
        } table[] = {
                {"S:x\nI:12345678\nE:A=1\n", 1, 12345678},
                {"E:I=5\nV:1\n", 0, 0},
                {"I:\n", -EINVAL, 0},
                {"I:soon\n", -EINVAL, 0},
                {"I:99999999999999999999999\n", -ERANGE, 0},
                {"I:111111111111111111111111111111111111\n", -ENAMETOOLONG, 0},
        };
        uint64_t usec = 0;
        struct tree t;

        tree_make(&t);
        assert_int_equal(udevdb_initialized(&t.roots, "b8:77", &usec), 0);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                usec = 0;
                tree_write(&t, "run/udev/data/b8:0", table[i].record);
                assert_int_equal(udevdb_initialized(&t.roots, "b8:0", &usec), table[i].r);
                assert_int_equal(usec, table[i].usec);
        }
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_decode),
                cmocka_unit_test(test_properties),
                cmocka_unit_test(test_usb_id),
                cmocka_unit_test(test_initialized),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
