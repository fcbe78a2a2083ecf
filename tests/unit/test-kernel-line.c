/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The quirks= string that has the same effect without uasd. */
#include "core/keepoff.h"
#include "core/quirk-join.h"

#include "unit.h"

#define A "/etc/modprobe.d/a.conf"
#define B "/etc/modprobe.d/b.conf"

/* The entries that a new quirks= replaces. If a bridge has two entries, the one in force stays. */
static void test_base(void **state)
{
        static const struct {
                const char *a, *b, *command_line, *twice;
                bool built_in;
                const char *for_command_line, *for_modprobe;
        } table[] = {
                {NULL, NULL, NULL, NULL, false, "", ""},
                {"1:1:u,x", NULL, NULL, NULL, false, "1:1:u,x", "1:1:u,x"},
                {"1:1:u", "2:2:u", NULL, NULL, false, "1:1:u,2:2:u", "1:1:u,2:2:u"},
                {"1:1:u,2:2:f", "2:2:u", NULL, NULL, false, "1:1:u,2:2:u", "1:1:u,2:2:u"},
                {"1:1:u", "2:2:u", "3:3:u", NULL, false, "1:1:u,2:2:u,3:3:u", "1:1:u,2:2:u"},
                {"1:1:u", NULL, "0x1:0001:f", NULL, false, "0x1:0001:f", "1:1:u"},
                {NULL, NULL, "152d:0578:u", "0781:5580:u", false, "152d:0578:u,0781:5580:u", ""},
                {NULL, NULL, "3:3:u,,4:4,3:3:f", "5:5:u", false, "3:3:u,5:5:u", ""},
                {"1:1:u", NULL, "", NULL, false, "1:1:u", "1:1:u"},
                {"1:1:u", NULL, NULL, NULL, true, "", "1:1:u"},
                {"1:1:u", NULL, "3:3:u", NULL, true, "3:3:u", "1:1:u"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct quirk_facts q = {.built_in = table[i].built_in};
                char *base;

                if (table[i].a)
                        assert_int_equal(
                                quirk_lines_add(&q.lines, QUIRK_MODPROBE, A, 1, table[i].a), 0);
                if (table[i].b)
                        assert_int_equal(
                                quirk_lines_add(&q.lines, QUIRK_MODPROBE, B, 1, table[i].b), 0);
                if (table[i].command_line)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_COMMAND_LINE, NULL, 0,
                                                         table[i].command_line),
                                         0);
                if (table[i].twice)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_COMMAND_LINE, NULL, 0,
                                                         table[i].twice),
                                         0);
                base = quirks_at(&q, QUIRK_COMMAND_LINE);
                if (!streq(base, table[i].for_command_line))
                        fail_msg("row %zu: %s", i, base);
                free(base);
                base = quirks_at(&q, QUIRK_MODPROBE);
                assert_row(i, streq(base, table[i].for_modprobe));
                free(base);
                quirk_facts_done(&q);
        }
}

/* One disk: the string that makes the kernel choose its target. */
static void test_one(void **state)
{
#define FULL                                                                                       \
        "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,1:1:u,11:1:u,2:2:u"
/* The string is full. An entry in the place of another one still fits. */
#define FULL_REST                                                                                  \
        "1111:1111:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,4444:4444:abcdefghijklmnopqrstuwy,1:1:u,11:1:u"
#define FULL_U "2222:2222:fu," FULL_REST
        static const struct {
                uint16_t vid, pid;
                enum driver target;
                const char *base, *quirks, *own;
                const char *left_out; /* the disk of the entry */
        } table[] = {
                /* clang-format off */
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, NULL, "1209:5a5a:u", "1209:5a5a:u", NULL},
                {0x1209, 0x5a5a, DRIVER_UAS, NULL, "", "", NULL},
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, "1:1:f", "1209:5a5a:u,1:1:f", "1209:5a5a:u", NULL},
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, "1:1:f,1209:5a5a:uf", "1:1:f,1209:5a5a:uf", "", NULL},
                {0x1209, 0x5a5a, DRIVER_UAS, "1209:5a5a:uf", "1209:5a5a:f", "1209:5a5a:f", NULL},
                /* The first entry for a bridge counts, so later ones are removed. The entries of others stay as they are written. */
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, "1209:5a5a:t", "1209:5a5a:tu", "1209:5a5a:tu", NULL},
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, "1:1:f,0x1209:5A5A:t,2:2:U,1209:5a5a:f", "1209:5a5a:tu,1:1:f,2:2:U", "1209:5a5a:tu", NULL},
                {0x2222, 0x2222, DRIVER_UAS, FULL_U, "2222:2222:f," FULL_REST, "2222:2222:f", NULL},
                /* A bridge in the kernel's table: usb-storage without force needs no entry. An entry for uas repeats its other
                 * letters. */
                {0x4971, 0x1012, DRIVER_USB_STORAGE, NULL, "", "", NULL},
                {0x4971, 0x1012, DRIVER_UAS, NULL, "4971:1012:", "4971:1012:", NULL},
                {0x1209, 0x5a5a, DRIVER_USB_STORAGE, FULL, FULL, "", "1209:5a5a:S1"},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const struct facts f = {.vid = table[i].vid,
                                        .pid = table[i].pid,
                                        .serial = "S1",
                                        .speed_mbps = 5000};
                struct keepoff made;

                assert_int_equal(kernel_line_make(table[i].base ?: "", NULL, &f, table[i].target,
                                                  NULL, 0, &made),
                                 0);
                if (!streq(made.quirks, table[i].quirks) || !streq(made.own, table[i].own))
                        fail_msg("row %zu: %s, own %s", i, made.quirks, made.own);
                assert_row(i, made.n_left_out == (table[i].left_out ? 1 : 0));
                assert_row(i,
                           !table[i].left_out || streq(made.left_out_disks[0], table[i].left_out));
                keepoff_done(&made);
        }
}

static void test_kept(void **state)
{
        struct kept_disks kept = {0};
        struct keepoff made;

        kept_disk(&kept, 0x1209, 0x5a5a, "S1")->policy = POLICY_USB_STORAGE;
        kept_disk(&kept, 0x1209, 0x5a5b, "@1.4")->policy = POLICY_USB_STORAGE;
        assert_int_equal(kernel_line_make("1:1:f", &kept, NULL, DRIVER_NONE, NULL, 0, &made), 0);
        assert_string_equal(made.quirks, "1209:5a5b:u,1209:5a5a:u,1:1:f");
        keepoff_done(&made);
        assert_int_equal(kernel_line_make("1:1:f,1209:5a5a:f,2:2:u", &kept, NULL, DRIVER_NONE, NULL,
                                          0, &made),
                         0);
        assert_string_equal(made.quirks, "1209:5a5b:u,1209:5a5a:fu,1:1:f,2:2:u");
        assert_string_equal(made.own, "1209:5a5b:u,1209:5a5a:fu");
        keepoff_done(&made);
        kept_disks_done(&kept);
}

/* A list of 179 characters, as a distribution ships it. */
#define LIST                                                                                                           \
        "174c:55aa:u,2109:0715:u,152d:0578:u,152d:0579:u,152d:1561:u,174c:0829:u,14b0:0206:u,174c:225c:u,7825:a2a4:u," \
        "152d:0562:u,125f:a88a:u,152d:a583:u,152d:a578:u,152d:0583:u,0bda:9201:u"

/* None of its entries is in force. The new line has as many as fit: ours, those that are plugged
 * in, the others in their order.
 */
static void test_too_long(void **state)
{
        const struct facts ours = {.vid = 0x1209,
                                   .pid = 0x5a5a,
                                   .serial = "S1",
                                   .speed_mbps = 5000},
                           listed = {.vid = 0x152d, .pid = 0x0583, .speed_mbps = 5000},
                           last = {.vid = 0x0bda, .pid = 0x9201};
        const struct facts *plugged[] = {&ours, &listed, &last};
        struct kept_disks kept = {0};
        struct keepoff made;

        assert_int_equal(strlen(LIST), 179);
        assert_int_equal(kernel_line_make(LIST, NULL, &ours, DRIVER_USB_STORAGE, plugged, 3, &made),
                         0);
        assert_string_equal(
                made.quirks,
                "1209:5a5a:u,152d:0583:u,0bda:9201:u,174c:55aa:u,2109:0715:u,152d:0578:u,152d:0579:u,"
                "152d:1561:u,174c:0829:u,14b0:0206:u");
        assert_string_equal(made.own, "1209:5a5a:u");
        assert_string_equal(made.dropped[0], "174c:225c:u");
        assert_string_equal(made.dropped[5], "152d:a578:u");
        assert_null(made.dropped[6]);
        keepoff_done(&made);

        assert_int_equal(
                kernel_line_make(LIST, NULL, &listed, DRIVER_USB_STORAGE, plugged + 1, 1, &made),
                0);
        assert_int_equal(strncmp(made.quirks, "152d:0583:u,174c:55aa:u,", 24), 0);
        assert_string_equal(made.own, "");
        keepoff_done(&made);

        kept_disk(&kept, 0x1209, 0x5a5a, "S1")->policy = POLICY_USB_STORAGE;
        assert_int_equal(kernel_line_make(LIST, &kept, NULL, DRIVER_NONE, plugged + 2, 1, &made),
                         0);
        assert_int_equal(strncmp(made.quirks, "1209:5a5a:u,0bda:9201:u,174c:55aa:u,", 36), 0);
        assert_string_equal(made.own, "1209:5a5a:u");
        keepoff_done(&made);
        kept_disks_done(&kept);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_base),
                cmocka_unit_test(test_one),
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_too_long),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
