/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The quirks= string that has the same effect without uasd. */
#include "core/keepoff.h"

#include "unit.h"

#define A "/etc/modprobe.d/a.conf"
#define B "/etc/modprobe.d/b.conf"

static void test_base(void **state)
{
        static const struct {
                const char *a, *b, *command_line;
                bool built_in;
                const char *for_command_line, *for_modprobe; /* NULL: none */
        } table[] = {
                {NULL, NULL, NULL, false, NULL, NULL},
                {"1:1:u", NULL, NULL, false, "1:1:u", "1:1:u"},
                {"1:1:u", "2:2:u", NULL, false, "2:2:u", "2:2:u"},
                {"1:1:u", "2:2:u", "3:3:u", false, "3:3:u", "2:2:u"},
                {NULL, NULL, "3:3:u", false, "3:3:u", NULL},
                {"1:1:u", NULL, "", false, "", "1:1:u"},
                {"1:1:u", NULL, NULL, true, NULL, "1:1:u"},
                {"1:1:u", NULL, "3:3:u", true, "3:3:u", "1:1:u"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct quirk_facts q = {.built_in = table[i].built_in};
                const struct quirk_line *line;

                if (table[i].a)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_MODPROBE, A, 1, table[i].a), 0);
                if (table[i].b)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_MODPROBE, B, 1, table[i].b), 0);
                if (table[i].command_line)
                        assert_int_equal(quirk_lines_add(&q.lines, QUIRK_COMMAND_LINE, NULL, 0, table[i].command_line), 0);
                line = kernel_line_base(&q, QUIRK_COMMAND_LINE);
                assert_row(i, table[i].for_command_line ? line && streq(line->value, table[i].for_command_line) : !line);
                line = kernel_line_base(&q, QUIRK_MODPROBE);
                assert_row(i, table[i].for_modprobe ? line && streq(line->value, table[i].for_modprobe) : !line);
                quirk_facts_done(&q);
        }
}

/* One disk: the string that makes the kernel choose its target. */
static void test_one(void **state)
{
#define FULL                                                                                                                     \
        "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,1:1:u,11:1:u,2:2:u"
/* The string is full. An entry in the place of another one still fits. */
#define FULL_REST                                                                                                                \
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
                const struct facts f = {.vid = table[i].vid, .pid = table[i].pid, .serial = "S1", .speed_mbps = 5000};
                const struct quirk_line base = {.value = (char *) table[i].base};
                struct keepoff made;

                assert_int_equal(kernel_line_make(table[i].base ? &base : NULL, NULL, &f, table[i].target, &made), 0);
                if (!streq(made.quirks, table[i].quirks) || !streq(made.own, table[i].own))
                        fail_msg("row %zu: %s, own %s", i, made.quirks, made.own);
                assert_row(i, made.n_left_out == (table[i].left_out ? 1 : 0));
                assert_row(i, !table[i].left_out || streq(made.left_out_disks[0], table[i].left_out));
                keepoff_done(&made);
        }
}

static void test_kept(void **state)
{
        struct kept_disks kept = {0};
        struct quirk_line base = {.value = (char *) "1:1:f"};
        char too_long[QUIRKS_MAX + 2];
        struct keepoff made;

        kept_disk(&kept, 0x1209, 0x5a5a, "S1")->policy = POLICY_USB_STORAGE;
        kept_disk(&kept, 0x1209, 0x5a5b, "@1.4")->policy = POLICY_USB_STORAGE;
        assert_int_equal(kernel_line_make(&base, &kept, NULL, DRIVER_NONE, &made), 0);
        assert_string_equal(made.quirks, "1209:5a5b:u,1209:5a5a:u,1:1:f");
        keepoff_done(&made);
        base.value = (char *) "1:1:f,1209:5a5a:f,2:2:u";
        assert_int_equal(kernel_line_make(&base, &kept, NULL, DRIVER_NONE, &made), 0);
        assert_string_equal(made.quirks, "1209:5a5b:u,1209:5a5a:fu,1:1:f,2:2:u");
        assert_string_equal(made.own, "1209:5a5b:u,1209:5a5a:fu");
        keepoff_done(&made);
        memset(too_long, 'x', sizeof(too_long) - 1);
        too_long[sizeof(too_long) - 1] = '\0';
        base.value = too_long;
        assert_int_equal(kernel_line_make(&base, &kept, NULL, DRIVER_NONE, &made), -E2BIG);
        kept_disks_done(&kept);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_base),
                cmocka_unit_test(test_one),
                cmocka_unit_test(test_kept),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
