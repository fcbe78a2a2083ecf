/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"

#include "common/util.h"
#include "core/smart.h"

#define HEAD                                                                                       \
        "Drive found in smartmontools Database.  Drive identity strings:\nMODEL:              "    \
        "0x174c:0x2362\nFIRMWARE:           (any)\n"

static const struct {
        const char *what, *text, *type; /* NULL: none */
        enum smart_lookup none;
} types[] = {
        /* clang-format off */
        {"one entry", HEAD "USB Bridge:         JMicron JMS578\nUSB Type            sat\n\n", "sat"},
        {"the first of two",
         HEAD
         "USB Type            sntasmedia\n\nand match these additional entries:\nUSB Type            sat\n",
         "sntasmedia"},
        {"with words of its own", HEAD "USB Type            sat,12\n", "sat,12"},
        {"two ways", HEAD "USB Type            sntjmicron/sat\n", "sntjmicron/sat"},
        {"with a colon, as other lines have", HEAD "USB Type:           sat\n", "sat"},
        {"no newline", "USB Type            sat", "sat"},
        {"known not to work", HEAD "USB Type            [unsupported]\n", NULL, SMART_UNSUPPORTED},
        {"and of the first that is what counts",
         HEAD "USB Type            [unsupported]\nUSB Type            sat\n", NULL, SMART_UNSUPPORTED},
        {"none", "No presets are defined for this drive.  Its identity strings:\nMODEL:    0x1209:0x5a5a\n",
         NULL, SMART_ABSENT},
        {"an error of smartctl", "smartctl: out of memory\n", NULL, SMART_UNREADABLE},
        {"nothing", "", NULL, SMART_UNREADABLE},
        {"no word", "USB Type\n", NULL, SMART_UNREADABLE},
        {"from the first letter on", "USB Type            a\n", "a"},
        {"an option", "USB Type            --set=standby,now\n", NULL, SMART_UNREADABLE},
        {"what no type is made of", "USB Type            sat;reboot\n", NULL, SMART_UNREADABLE},
        {"too long", "USB Type            satsatsatsatsatsatsatsatsatsatsatsatsat\n", NULL, SMART_UNREADABLE},
        {"the longest", "USB Type            satsatsatsatsatsatsatsatsatsats\n", "satsatsatsatsatsatsatsatsatsats"},
        {"one character more", "USB Type            satsatsatsatsatsatsatsatsatsatsa\n", NULL, SMART_UNREADABLE},
        {"in the middle of a line", "The USB Type            sat\n", NULL, SMART_UNREADABLE},
        /* clang-format on */
};

static void test_types(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                char type[SMART_TYPE_MAX] = "-";
                enum smart_lookup found = smart_type_parse(types[i].text, type);

                if (found != (types[i].type ? SMART_FOUND : types[i].none) ||
                    !streq(type, types[i].type ?: "-"))
                        fail_msg("%s: %d %s", types[i].what, (int) found, type);
        }
}

static void test_why_not(void **state)
{
        static const struct {
                struct smart_case c;
                const char *why;
        } table[] = {
                /* clang-format off */
                {{STATE_SETTLED, VERDICT_UNKNOWN, false, SMART_FOUND, true}, NULL},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_FOUND, true}, NULL},
                {{STATE_INCAPABLE, VERDICT_UNKNOWN, false, SMART_FOUND, true}, NULL},
                {{STATE_SETTLED, VERDICT_UNKNOWN, false, SMART_FOUND, false}, "only root may ask it"},
                {{STATE_SETTLED, VERDICT_UNKNOWN, false, SMART_ABSENT, true},
                 "smartctl's database does not have its bridge"},
                {{STATE_SETTLED, VERDICT_UNKNOWN, true, SMART_FOUND, true}, "commands to it have timed out"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_FOUND, true, .on_trial = true}, "it is on trial"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_FOUND, true, .distrusted = true},
                 "it is distrusted"},
                {{STATE_SETTLED, VERDICT_BAD, false, SMART_FOUND, true},
                 "its bridge is known to be bad under uas"},
                {{STATE_SWITCHING, VERDICT_GOOD, false, SMART_FOUND, true}, "it is being switched"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_FOUND, true, .switching = true}, "it is being switched"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_FOUND, true, .leased = true},
                 "it is leased, and its holder may be measuring it"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_UNSUPPORTED, true},
                 "smartctl's database has its bridge as one that does not work"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_UNREADABLE, true},
                 "smartctl's answer does not name the type of its bridge"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_LATE, false},
                 "smartctl's answer about its bridge did not come in time"},
                {{STATE_SETTLED, VERDICT_GOOD, false, SMART_ABSENT, true, .blocked = true},
                 "the kernel blocks ATA commands to it under uas (flag t), and allows them under usb-storage"},
                /* Under a lease it is switched and may be on trial. The lease is the reason that matters. */
                {{STATE_SWITCHING, VERDICT_GOOD, true, SMART_ABSENT, false, .leased = true, .switching = true, .on_trial = true},
                 "it is leased, and its holder may be measuring it"},
                /* clang-format on */
        };
        static const enum state never[] = {STATE_HELD,   STATE_WAITING, STATE_SWITCHING,
                                           STATE_TRIAL,  STATE_FAILED,  STATE_UNBOUND,
                                           STATE_IGNORED};

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const char *why = smart_why_not(&table[i].c);

                assert_string_equal(why ?: "", table[i].why ?: "");
        }
        for (size_t i = 0; i < ELEMENTSOF(never); i++)
                assert_non_null(smart_why_not(
                        &(struct smart_case){never[i], VERDICT_GOOD, false, SMART_FOUND, true}));
}

/* Flag t: by the kernel's rule for Seagate under uas, by its table, or by an entry, which replaces
 * all of these. */
static void test_ata_blocked(void **state)
{
        static const struct {
                struct facts f;
                bool uas, usb_storage;
        } table[] = {
                {{.vid = 0x0bc2, .pid = 0x2037}, true, false},
                {{.vid = 0x0bc2, .pid = 0x2037, .quirks = "0bc2:2037:j"}, false, false},
                {{.vid = 0x0bc2, .pid = 0x2037, .quirks = "0bc2:2037:"}, false, false},
                {{.vid = 0x0bc2, .pid = 0x2037, .quirks = "0bc2:2037:jt"}, true, true},
                {{.vid = 0x0bc2, .pid = 0x2037, .quirks = "0bc2:2038:j,0bc2:2037"}, true, false},
                {{.vid = 0x125f, .pid = 0xa94a, .bcd = 0x0160}, true, true},
                {{.vid = 0x1209, .pid = 0x5a5a}, false, false},
                {{.vid = 0x1209, .pid = 0x5a5a, .quirks = "1209:5a5a:t"}, true, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                assert_row(i, smart_ata_blocked(&table[i].f, DRIVER_UAS) == table[i].uas);
                assert_row(i, smart_ata_blocked(&table[i].f, DRIVER_USB_STORAGE) ==
                                      table[i].usb_storage);
        }
}

/* Only of a disk on uas. A way out is named only if there is one. */
static void test_explained(void **state)
{
        static const struct {
                struct facts f;
                const char *text;
        } table[] = {
                /* clang-format off */
                {{.vid = 0x0bc2, .pid = 0x2037, .driver = DRIVER_UAS, .caps.bot = true},
                 "The kernel blocks ATA commands under uas for this bridge (flag t), so SMART cannot be read. usb-storage allows them: uasctl switch DISK usb-storage"},
                {{.vid = 0x0bc2, .pid = 0x2037, .driver = DRIVER_UAS}, /* it speaks UAS alone */
                 "The kernel blocks ATA commands for this bridge (flag t), so SMART cannot be read."},
                {{.vid = 0x125f, .pid = 0xa94a, .bcd = 0x0160, .driver = DRIVER_UAS, .caps.bot = true},
                 "The kernel blocks ATA commands for this bridge (flag t), so SMART cannot be read."},
                {{.vid = 0x0bc2, .pid = 0x2037, .driver = DRIVER_UAS, .caps.bot = true, .quirks = "1209:5a5a:u,0bc2:2037:j"},
                 "The entry 0bc2:2037:j replaces the kernel's flag t: ATA commands reach the disk under uas."},
                {{.vid = 0x1209, .pid = 0x5a5a, .driver = DRIVER_UAS, .caps.bot = true, .quirks = "1209:5a5a:j"}, ""},
                {{.vid = 0x1209, .pid = 0x5a5a, .driver = DRIVER_UAS, .caps.bot = true}, ""},
                {{.vid = 0x0bc2, .pid = 0x2037, .driver = DRIVER_USB_STORAGE, .caps.bot = true}, ""},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char text[256] = "-";

                if (!streq(smart_explain(&table[i].f, text, sizeof(text)), table[i].text))
                        fail_msg("row %zu: %s", i, text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_types),
                cmocka_unit_test(test_why_not),
                cmocka_unit_test(test_ata_blocked),
                cmocka_unit_test(test_explained),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
