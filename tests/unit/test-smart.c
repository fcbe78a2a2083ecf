/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"

#include "common/util.h"
#include "core/smart.h"

#define HEAD                                                                                                                     \
        "Drive found in smartmontools Database.  Drive identity strings:\nMODEL:              "                                  \
        "0x174c:0x2362\nFIRMWARE:           (any)\n"

static const struct {
        const char *what, *text, *type; /* NULL: none */
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
        {"known not to work", HEAD "USB Type            [unsupported]\n", NULL},
        {"and of the first that is what counts",
         HEAD "USB Type            [unsupported]\nUSB Type            sat\n", NULL},
        {"none", "No presets are defined for this drive.  Its identity strings:\nMODEL:    0x1209:0x5a5a\n",
         NULL},
        {"nothing", "", NULL},
        {"no word", "USB Type\n", NULL},
        {"from the first letter on", "USB Type            a\n", "a"},
        {"an option", "USB Type            --set=standby,now\n", NULL},
        {"what no type is made of", "USB Type            sat;reboot\n", NULL},
        {"too long", "USB Type            satsatsatsatsatsatsatsatsatsatsatsatsat\n", NULL},
        {"the longest", "USB Type            satsatsatsatsatsatsatsatsatsats\n", "satsatsatsatsatsatsatsatsatsats"},
        {"one character more", "USB Type            satsatsatsatsatsatsatsatsatsatsa\n", NULL},
        {"in the middle of a line", "The USB Type            sat\n", NULL},
        /* clang-format on */
};

static void test_types(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                char type[SMART_TYPE_MAX] = "-";
                bool found = smart_type_parse(types[i].text, type);

                if (found != (types[i].type != NULL) || (found && !streq(type, types[i].type)))
                        fail_msg("%s: %s", types[i].what, found ? type : "none");
        }
}

static void test_why_not(void **state)
{
        static const struct {
                struct smart_case c;
                const char *why;
        } table[] = {
                /* clang-format off */
                {{STATE_SETTLED, VERDICT_UNKNOWN, "", false, true, true}, NULL},
                {{STATE_SETTLED, VERDICT_GOOD, "passed its trial", false, true, true}, NULL},
                {{STATE_INCAPABLE, VERDICT_UNKNOWN, "", false, true, true}, NULL},
                {{STATE_SETTLED, VERDICT_UNKNOWN, "", false, true, false}, "only root may ask it"},
                {{STATE_SETTLED, VERDICT_UNKNOWN, "", false, false, true},
                 "smartctl's database does not have its bridge"},
                {{STATE_SETTLED, VERDICT_UNKNOWN, "", true, true, true}, "commands to it have timed out"},
                {{STATE_SETTLED, VERDICT_GOOD, "on trial", false, true, true}, "it is on trial"},
                {{STATE_SETTLED, VERDICT_GOOD, "distrusted: it had to be reset", false, true, true},
                 "it is distrusted"},
                {{STATE_SETTLED, VERDICT_BAD, "", false, true, true},
                 "its bridge is known to be bad under uas"},
                {{STATE_SWITCHING, VERDICT_GOOD, "", false, true, true}, "it is being switched"},
                {{STATE_SETTLED, VERDICT_GOOD, "", false, true, true, .switching = true}, "it is being switched"},
                {{STATE_SETTLED, VERDICT_GOOD, "", false, true, true, .leased = true},
                 "it is leased, and its holder may be measuring it"},
                /* Under a lease it is switched and may be on trial. The lease is the reason that matters. */
                {{STATE_SWITCHING, VERDICT_GOOD, "on trial", true, false, false, .leased = true, .switching = true},
                 "it is leased, and its holder may be measuring it"},
                /* clang-format on */
        };
        static const enum state never[] = {STATE_HELD,   STATE_WAITING, STATE_SWITCHING, STATE_TRIAL,
                                           STATE_FAILED, STATE_UNBOUND, STATE_IGNORED};

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const char *why = smart_why_not(&table[i].c);

                assert_string_equal(why ?: "", table[i].why ?: "");
        }
        for (size_t i = 0; i < ELEMENTSOF(never); i++)
                assert_non_null(smart_why_not(&(struct smart_case){never[i], VERDICT_GOOD, "", false, true, true}));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_types),
                cmocka_unit_test(test_why_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
