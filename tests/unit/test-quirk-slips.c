/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text that was meant as quirks entries, and that the kernel ignores. */
#include "core/quirk-slips.h"

#include "unit.h"

static void take(struct quirk_lines *l, char *line)
{
        struct quirk_line where = {.source = QUIRK_COMMAND_LINE};
        char *name, *value, word[300];
        bool behind = false;

        while ((line = kernel_next_arg(line, &name, &value))) {
                bool quirks = value && kernel_name_is(name, "usb_storage.quirks");
                bool slip = !quirks && quirk_word_is_slip(name, value, false, behind);

                (void) snprintf(word, sizeof(word), "%s%s%s", name, value ? "=" : "", value ?: "");
                where.value = word;
                if (quirks)
                        assert_int_equal(quirk_lines_add(l, QUIRK_COMMAND_LINE, NULL, 0, value), 0);
                else if (slip)
                        assert_int_equal(quirk_slips_add(l, &where), 0);
                where.behind = quirks ? l->n : 0;
                behind = quirks || slip;
        }
}

#define LETTERS "|ignored: an entry is VID:PID:LETTERS, and this one has no letters|"
#define SHAPE "|ignored: an entry is VID:PID:LETTERS|"
#define DIGITS "|ignored: VID and PID have at most four hexadecimal digits|"
#define NAME "|ignored: usb-storage has no parameter of that name|"
#define BLANK "|ignored: a blank ends the word with the entries|"
#define UNKNOWN "|the kernel ignores the letters in it that it does not know|"
#define AS(entry) "Write it as " entry
#define WITH(entry) AS(entry) ", in one word with the other entries."

static void test_command_line(void **state)
{
        static const struct {
                const char *line, *slips[3]; /* "TEXT|WHY|REMEDY" */
        } table[] = {
                {"quiet root=LABEL=a rootwait", {NULL}},
                {"usb-storage.quirks=152d:0578:u", {NULL}},
                {"usb_storage.quirks=0x152D:0x578:,0000152d:00579:UF", {NULL}},
                {"usb-storage.quirks=", {NULL}},
                {"usb-storage.quirks=152d:0578:u usb-storage.delay_use=1 12:34 usbcore.quirks=152d:0578:k",
                 {NULL}},
                {"usb-storage.quirks=152d:0578", {"152d:0578" LETTERS AS("152d:0578:u")}},
                {"usb-storage.quirks=152d:578,04e8:4001:u", {"152d:578" LETTERS AS("152d:0578:u")}},
                {"usb-storage.quirks=04e8 4001:u", {"4001:u" BLANK WITH("04e8:4001:u")}},
                {"usb-storage.quirks=1:2:u,04e8 4001:u quiet",
                 {"4001:u" BLANK WITH("04e8:4001:u")}},
                {"usb-storage.quirks=152d:0578:u, 0781:5580:u",
                 {"0781:5580:u" BLANK WITH("0781:5580:u")}},
                {"usb-storage.quirks=152d:0578:u, 0781:5580:u, 1:2:u",
                 {"0781:5580:u," BLANK WITH("0781:5580:u"), "1:2:u" BLANK WITH("1:2:u")}},
                {"usb-storage.quirks=\"152d:0578:u, 0781:5580:u\"",
                 {" 0781:5580:u" SHAPE AS("0781:5580:u")}},
                {"usb-storage.quirk=152d:0578:u",
                 {"usb-storage.quirk=152d:0578:u" NAME "Write: usb-storage.quirks=152d:0578:u"}},
                {"USB-storage.quirks=152d:0578:u",
                 {"USB-storage.quirks=152d:0578:u" NAME "Write: usb-storage.quirks=152d:0578:u"}},
                {"usbstorage_quirks=152d:0578",
                 {"usbstorage_quirks=152d:0578" NAME "Write: usb-storage.quirks=152d:0578:u"}},
                {"uas.quirks=152d:0578:u",
                 {"uas.quirks=152d:0578:u" NAME "Write: usb-storage.quirks=152d:0578:u"}},
                {"usbcore.quirks=152d:0578:u",
                 {"usbcore.quirks=152d:0578:u" NAME "Write: usb-storage.quirks=152d:0578:u"}},
                {"usb-storage.quirks=152d1:0578:u", {"152d1:0578:u" DIGITS}},
                {"usb-storage.quirks=152d:05781:u", {NULL}},
                {"usb-storage.quirks=152d:15781a:u", {"152d:15781a:u" DIGITS}},
                {"usb-storage.quirks=152d:0578:xu", {"152d:0578:xu" UNKNOWN AS("152d:0578:u")}},
                {"usb-storage.quirks=152d:0578:u:f", {"152d:0578:u:f" UNKNOWN AS("152d:0578:fu")}},
                {"usb-storage.quirks=152d.0578.u;174c:55aa:u",
                 {"152d.0578.u;174c:55aa:u" SHAPE AS("152d:0578:acu")}},
                {"usb-storage.quirks=152d:0578=u", {"152d:0578=u" LETTERS AS("152d:0578:u")}},
                {"usb-storage.quirks=jmicron:u", {"jmicron:u" SHAPE}},
                {"usb-storage.quirks=aaaa:bbbb:u,,", {NULL}},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct quirk_lines lines = {0};
                struct quirk_slip slips[8];
                char line[200];
                size_t n;

                (void) copy_string(line, sizeof(line), table[i].line);
                take(&lines, line);
                n = quirk_slips(&lines, slips, ELEMENTSOF(slips));
                for (size_t j = 0; j < n; j++) {
                        char why[200], remedy[300], text[800];

                        (void) snprintf(text, sizeof(text), "%s|%s|%s", slips[j].text,
                                        quirk_slip_why(slips + j, why, sizeof(why)),
                                        quirk_slip_remedy(slips + j, remedy, sizeof(remedy)));
                        if (j >= 3 || !table[i].slips[j] || !streq(text, table[i].slips[j]))
                                fail_msg("%s: slip %zu is %s", table[i].line, j, text);
                        assert_row(i, *quirk_slip_kind_to_string(slips[j].kind));
                        /* The kernel obeys the entry that uasctl prints. */
                        if (*slips[j].meant && strstr(table[i].line, "152d") &&
                            streq(slips[j].text, "152d:0578"))
                                assert_row(i, quirks_find(slips[j].meant, 0x152d, 0x0578,
                                                          (char[QUIRK_ENTRY_MAX]){0}) == 1);
                }
                if (n < 3 && table[i].slips[n])
                        fail_msg("%s: only %zu slips", table[i].line, n);
                assert_row(i, quirk_slips(&lines, slips, n ? n - 1 : 0) == (n ? n - 1 : 0));
                quirk_lines_done(&lines);
        }
}

static void test_options(void **state)
{
        assert_true(quirk_word_is_slip("quirk", "152d:0578:u", true, false));
        assert_true(quirk_word_is_slip("usb-storage.quirks", "152d:0578:u", true, false));
        assert_true(quirk_word_is_slip("0781:5580:u", NULL, true, true));
        assert_false(quirk_word_is_slip("0781:5580:u", NULL, true, false));
        assert_false(quirk_word_is_slip("quirks", "152d:0578:u", true, false));
        assert_false(quirk_word_is_slip("delay_use", "1", true, true));
        assert_false(quirk_word_is_slip("a_name_that_is_longer_than_the_name_of_any_parameter_here",
                                        "1", false, true));
}

static void test_near(void **state)
{
        struct quirk_lines lines = {0};
        struct quirk_slip slips[4];

        assert_int_equal(quirk_lines_add(&lines, QUIRK_MODPROBE, "/etc/modprobe.d/a.conf", 1,
                                         "152d:0578,152dd:0580:u"),
                         0);
        assert_int_equal(quirk_slips(&lines, slips, ELEMENTSOF(slips)), 2);
        assert_true(quirk_slip_is_for(slips, 0x152d, 0x0578));
        assert_false(quirk_slip_is_for(slips, 0x152d, 0x0580));
        assert_true(quirk_slip_is_for(slips + 1, 0x152d, 0x0580)); /* it may be meant */
        assert_false(quirk_slip_is_for(slips + 1, 0x04e8, 0x4001));
        assert_int_equal(
                quirk_lines_add(&lines, QUIRK_MODPROBE, "/etc/modprobe.d/b.conf", 2, "04e8:4001"),
                0);
        assert_int_equal(quirk_slips(&lines, slips, ELEMENTSOF(slips)), 3);
        for (size_t i = 0; i < 3; i++)
                assert_ptr_equal(slips[i].line, lines.list + i / 2);
        assert_string_equal(slips[2].text, "04e8:4001");
        quirk_lines_done(&lines);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_command_line),
                cmocka_unit_test(test_options),
                cmocka_unit_test(test_near),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
