/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small files with state: their modes, and links that are not followed. */
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
#include "tree.h"

static unsigned mode(struct tree *t, const char *path)
{
        char full[200];
        struct stat st;

        (void) snprintf(full, sizeof(full), "%s/%s", t->path, path);
        assert_int_equal(lstat(full, &st), 0);
        return st.st_mode & 07777;
}

/* The umask of the service is 077, that of a rescue shell is unknown. Other users can read the
 * files, but not write them. */
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
                if (!tree_exists(&t, "elsewhere/policy") ||
                    !tree_exists(&t, "elsewhere/hold/policy"))
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

/* A killed writer with our pid left a file. It is not written through, and does not prevent the
 * write. */
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_modes),
                cmocka_unit_test(test_links),
                cmocka_unit_test(test_link_above),
                cmocka_unit_test(test_left_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
