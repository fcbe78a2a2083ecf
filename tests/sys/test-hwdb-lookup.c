/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* At plug-in, before udev has a record. The test replaces libsystemd's hwdb. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-hwdb.h>
#include <cmocka.h>

#include "common/util.h"
#include "sys/udev/hwdb.h"
#include "sys/udev/udevdb.h"
#include "tree.h"

#define RECORD "run/udev/data/c189:132"

static const char *says, *says_next; /* the first statement, and the second */
static int there;
static unsigned looked_up;

int __wrap_sd_hwdb_new(sd_hwdb **ret);
int __wrap_sd_hwdb_get(sd_hwdb *hwdb, const char *modalias, const char *key, const char **ret);
sd_hwdb *__wrap_sd_hwdb_unref(sd_hwdb *hwdb);

int __wrap_sd_hwdb_new(sd_hwdb **ret)
{
        looked_up++;
        *ret = (sd_hwdb *) &looked_up;
        return there;
}

int __wrap_sd_hwdb_get(sd_hwdb *hwdb, const char *modalias, const char *key, const char **ret)
{
        assert_ptr_equal(hwdb, &looked_up);
        assert_string_equal(modalias, "usb:v152Dp0578:Fast Disk");
        *ret = streq(key, "UASD_DB_1") ? says : streq(key, "UASD_DB_2") ? says_next : NULL;
        return *ret ? 0 : -ENOENT;
}

sd_hwdb *__wrap_sd_hwdb_unref(sd_hwdb *hwdb)
{
        return NULL;
}

static void test_lookup(void **state)
{
        static const struct {
                const char *record, *says;
                int there;
                enum verdict before, after;
                unsigned looked_up;
        } table[] = {
                {NULL, "bad;*;*;A list;2026-11", 0, VERDICT_UNKNOWN, VERDICT_BAD, 1},
                {NULL, "good;0100-0100;*;A list;2026-11", 0, VERDICT_UNKNOWN, VERDICT_GOOD, 1},
                {NULL, "bad;0101-0200;*;A list;2026-11", 0, VERDICT_UNKNOWN, VERDICT_UNKNOWN, 1},
                {NULL, "bad;*;*;Linux 7.3 unusual_uas.h;2026-11", 0, VERDICT_UNKNOWN,
                 VERDICT_UNKNOWN, 1},
                /* A trial that was passed gives the verdict good. */
                {NULL, "bad;*;*;A list;2026-11", 0, VERDICT_GOOD, VERDICT_BAD, 1},
                {NULL, "unknown;*;*;A list;2026-11", 0, VERDICT_GOOD, VERDICT_GOOD, 1},
                {NULL, NULL, -ENOENT, VERDICT_GOOD, VERDICT_GOOD, 1},
                /* Once udev has a record, only that counts. */
                {"I:1\n", "bad;*;*;A list;2026-11", 0, VERDICT_UNKNOWN, VERDICT_UNKNOWN, 0},
        };
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct facts f = {.port = "2-1",
                                  .vid = 0x152d,
                                  .pid = 0x0578,
                                  .bcd = 0x0100,
                                  .product = "Fast Disk"};

                if (table[i].record)
                        tree_write(&t, RECORD, table[i].record);
                else
                        tree_unlink(&t, RECORD);
                says = table[i].says;
                there = table[i].there;
                looked_up = 0;
                f.verdict = table[i].before;
                facts_complete_hwdb(&t.roots, &f);
                if (f.verdict != table[i].after || looked_up != table[i].looked_up)
                        fail_msg("row %zu: %s, looked up %u times", i, verdict_to_string(f.verdict),
                                 looked_up);
        }
        tree_remove(&t);
}

/* A statement that is too long does not count. The next one does. */
static void test_too_long(void **state)
{
        char text[512] = "bad;*;*;A list;2026-11;";
        struct db_entry e;

        memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
        says = text;
        says_next = "good;*;*;A list;2026-11";
        there = 0;
        assert_int_equal(hwdb_read(0x152d, 0x0578, "Fast Disk", &e), 1);
        assert_int_equal(e.n_says, 1);
        assert_int_equal(e.says[0].verdict, VERDICT_GOOD);
        says_next = NULL;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lookup),
                cmocka_unit_test(test_too_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
