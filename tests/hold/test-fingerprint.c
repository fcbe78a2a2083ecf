/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/util.h"
#include "sys/block/fingerprint.h"

#define LUN0 "LUN0_SIZE=100\nLUN0_SECTOR=512\n"
#define REST0 "LUN0_HEAD=a\nLUN0_TAIL=b\nLUN0_PTTYPE=gpt\n"
#define LUN1 "LUN1_SIZE=200\nLUN1_SECTOR=512\n"
#define REST1 "LUN1_HEAD=c\nLUN1_TAIL=d\n"
#define LUN11 "LUN11_SIZE=200\nLUN11_SECTOR=512\nLUN11_HEAD=c\n"

static const struct {
        const char *before, *after, *difference; /* NULL: the same */
} rows[] = {
        {"", "", NULL},
        {LUN0 REST0, LUN0 REST0, NULL},
        {LUN0 REST0 LUN1 REST1, LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0, LUN0 "LUN0_HEAD=z\n", "before LUN0_HEAD=a, now LUN0_HEAD=z"},
        {LUN0 REST0, LUN0, "before LUN0_HEAD=a, now nothing"},
        {LUN0, LUN0 REST0, "before nothing, now LUN0_HEAD=a"},
        {LUN0 REST0, LUN0 REST0 LUN1 REST1, "before nothing, now LUN1_SIZE=200"},
        /* A part that could not be read is not compared. The other parts are. */
        {LUN0 "LUN0_UNREAD=1\n", LUN0 REST0, NULL},
        {LUN0 "LUN0_UNREAD=1\n" LUN1 REST1, LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0 LUN1 "LUN1_UNREAD=1\n", LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 "LUN0_UNREAD=1\n", "LUN0_SIZE=101\nLUN0_SECTOR=512\n" REST0, "before LUN0_SIZE=100, now LUN0_SIZE=101"},
        {LUN0 "LUN0_UNREAD=1\n" LUN1 REST1, LUN0 REST0 LUN1 "LUN1_HEAD=z\n", "before LUN1_HEAD=c, now LUN1_HEAD=z"},
        {LUN0 "LUN0_UNREAD=1\n", LUN0 REST0 LUN1 REST1, "before nothing, now LUN1_SIZE=200"},
        {LUN1 "LUN1_UNREAD=1\n" LUN11, LUN1 REST1 LUN11, NULL},
        {LUN1 "LUN1_UNREAD=1\n", LUN1 REST1 LUN11, "before nothing, now LUN11_SIZE=200"},
        /* a card was put into an empty slot, or taken out */
        {LUN0 REST0 "LUN1_UNREAD=1\n", LUN0 REST0 LUN1 REST1, NULL},
        {LUN0 REST0 LUN1 REST1, LUN0 REST0 "LUN1_UNREAD=1\n", "before LUN1_SIZE=200, now LUN1_UNREAD=1"},
        /* After the switch everything must be readable. */
        {LUN0 REST0, LUN0 "LUN0_UNREAD=1\n", "before LUN0_HEAD=a, now LUN0_UNREAD=1"},
};

static void test_same(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char difference[160] = "";

                assert_int_equal(fingerprint_same(rows[i].before, rows[i].after, difference, sizeof(difference)),
                                 !rows[i].difference);
                if (rows[i].difference)
                        assert_string_equal(difference, rows[i].difference);
        }
}

static void test_same_sizes(void **state)
{
        assert_true(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 "LUN0_HEAD=z\n" LUN1 REST1));
        assert_false(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 "LUN0_HEAD=z\n"
                                                                        "LUN1_SIZE=201\n" REST1));
        assert_false(fingerprint_same_sizes(LUN0 REST0, "LUN0_SIZE=100\nLUN0_SECTOR=4096\n" REST0));
        assert_false(fingerprint_same_sizes("LUN0_SIZE=100\n", "LUN0_SIZE=1000\n"));
        /* A card that was taken out has no size. */
        assert_true(fingerprint_same_sizes(LUN0 REST0 LUN1 REST1, LUN0 REST0 "LUN1_UNREAD=1\n"));
        assert_true(fingerprint_same_sizes(LUN1 REST1, LUN11));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same),
                cmocka_unit_test(test_same_sizes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
