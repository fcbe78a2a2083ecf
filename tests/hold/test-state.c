/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small files with state: their modes, and links that are not followed. Also udev's escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/udev/udevdb.h"
#include "tree.h"

static unsigned mode(struct tree *t, const char *path)
{
        char full[200];
        struct stat st;

        (void) snprintf(full, sizeof(full), "%s/%s", t->path, path);
        assert_int_equal(lstat(full, &st), 0);
        return st.st_mode & 07777;
}

/* The umask of the service is 077, that of a rescue shell is unknown. Other users can read the files, but not write them. */
static void test_modes(void **state)
{
        static const mode_t masks[] = {0, 022, 077, 0777};
        struct tree t;

        for (size_t i = 0; i < ELEMENTSOF(masks); i++) {
                mode_t before = umask(masks[i]);
                int r;

                (void) umask(022);
                tree_make(&t);
                (void) umask(masks[i]);
                r = state_write(t.roots.run, "uasd/attachment/x", "A=1\n", false);
                (void) umask(before);
                assert_int_equal(r, 0);
                assert_int_equal(mode(&t, "run/uasd"), 0755);
                assert_int_equal(mode(&t, "run/uasd/attachment"), 0755);
                assert_int_equal(mode(&t, "run/uasd/attachment/x"), 0644);
                tree_remove(&t);
        }
}

static int count_line(const char *key, const char *value, void *data)
{
        ++*(int *) data;
        return 0;
}

static void test_links(void **state)
{
        static const struct {
                const char *what, *link, *target;
        } table[] = {
                {"the file", "var/lib/uasd/policy", "../../../precious"},
                {"its folder", "var/lib/uasd", "../../elsewhere"},
                {"a file in /run", "run/uasd/hold/policy", "../../../precious"},
                {"a folder in /run", "run/uasd/hold", "../../elsewhere"},
                {"the folder above it", "run/uasd", "../elsewhere"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                bool run = strncmp(table[i].link, "run/", 4) == 0;
                const char *path = run ? "uasd/hold/policy" : "lib/uasd/policy";
                int lines = 0, fd;
                struct tree t;

                tree_make(&t);
                fd = run ? t.roots.run : t.roots.var;
                tree_write(&t, "precious", "A=1\n");
                tree_write(&t, "elsewhere/policy", "A=1\n");
                tree_write(&t, "elsewhere/hold/policy", "A=1\n");
                tree_write(&t, "var/lib/other", "");
                tree_unlink(&t, "run/uasd");
                tree_link(&t, table[i].link, table[i].target);

                if (state_read(fd, path, count_line, &lines) > 0 || lines > 0)
                        fail_msg("read through a link: %s", table[i].what);
                (void) state_write(fd, path, "B=2\n", false); /* this may replace the link itself */
                (void) state_remove(fd, path);
                assert_string_equal(tree_read(&t, "precious"), "A=1\n");
                if (!tree_exists(&t, "elsewhere/policy") || !tree_exists(&t, "elsewhere/hold/policy"))
                        fail_msg("removed through a link: %s", table[i].what);
                assert_string_equal(tree_read(&t, "elsewhere/policy"), "A=1\n");
                assert_string_equal(tree_read(&t, "elsewhere/hold/policy"), "A=1\n");
                tree_remove(&t);
        }
}

/* /var/lib may be a link to another disk. It is above our directory. */
static void test_link_above(void **state)
{
        struct tree t;
        int lines = 0;

        tree_make(&t);
        tree_write(&t, "data/uasd/policy", "A=1\n");
        tree_link(&t, "var/lib", "../data");
        assert_int_equal(state_read(t.roots.var, "lib/uasd/policy", count_line, &lines), 1);
        assert_int_equal(lines, 1);
        assert_int_equal(state_write(t.roots.var, "lib/uasd/policy", "B=2\n", true), 0);
        assert_string_equal(tree_read(&t, "data/uasd/policy"), "B=2\n");
        tree_remove(&t);
}

/* A killed writer with our pid left a file. It is not written through, and does not prevent the write. */
static void test_left_over(void **state)
{
        char temp[64];
        struct tree t;

        tree_make(&t);
        tree_write(&t, "precious", "A=1\n");
        (void) snprintf(temp, sizeof(temp), "run/uasd/hold/.x.%i", (int) getpid());
        tree_link(&t, temp, "../../../precious");
        assert_int_equal(state_write(t.roots.run, "uasd/hold/x", "B=2\n", false), 0);
        assert_string_equal(tree_read(&t, "precious"), "A=1\n");
        assert_string_equal(tree_read(&t, "run/uasd/hold/x"), "B=2\n");
        assert_false(tree_exists(&t, temp));
        tree_remove(&t);
}

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
                char *s = strdup(table[i].text); /* of the exact size: ASan detects a read past the end */

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
                {"K234567890123456789012345678901234567890123456789012345678901", -ENAMETOOLONG, ""},
        };
        struct tree t;
        char value[8];

        tree_make(&t);
        tree_write(&t, "run/udev/data/b8:0",
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
        assert_int_equal(
                udevdb_property(&t.roots, "b8:000000000000000000000000000000000000000000000000000", "A", value, sizeof(value)),
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
                cmocka_unit_test(test_modes),      cmocka_unit_test(test_links),  cmocka_unit_test(test_link_above),
                cmocka_unit_test(test_left_over),  cmocka_unit_test(test_decode), cmocka_unit_test(test_initialized),
                cmocka_unit_test(test_properties), cmocka_unit_test(test_usb_id),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
