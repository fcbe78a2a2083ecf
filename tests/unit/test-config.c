/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config.h"

#include "unit.h"

static void test_seconds(void **state)
{
        static const struct {
                const char *s;
                int r;
                uint64_t usec;
        } table[] = {
                {"0", 0, 0},
                {"20", 0, 20 * USEC_PER_SEC},
                {"20s", 0, 20 * USEC_PER_SEC},
                {"3sec", 0, 3 * USEC_PER_SEC},
                {"500ms", 0, 500 * USEC_PER_MSEC},
                {"7us", 0, 7},
                {"1min", 0, 60 * USEC_PER_SEC},
                {"2m", 0, 120 * USEC_PER_SEC},
                {"1h", 0, 3600 * USEC_PER_SEC},
                {"1d", 0, 86400 * USEC_PER_SEC},
                {"1min 30s", 0, 90 * USEC_PER_SEC},
                {"1min30", 0, 90 * USEC_PER_SEC},
                {"5 ", 0, 5 * USEC_PER_SEC},
                {"", -EINVAL, 0},
                {" 5", -EINVAL, 0},
                {"s", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"+1", -EINVAL, 0},
                {"1.5", -EINVAL, 0},
                {"1 s", -EINVAL, 0},
                {"1S", -EINVAL, 0},
                {"1day", -EINVAL, 0},
                {"infinity", -EINVAL, 0},
                {"18446744073709551614us", 0, UINT64_MAX - 1},
                {"18446744073709551615us", -EINVAL, 0},
                {"18446744073709551616us", -EINVAL, 0},
                {"99999999999999999999us", -EINVAL, 0},
                {"0000000000000000000000000000000000000000000000000000000000000005s", -EINVAL, 0},
                {"18446744073709551614s", -EINVAL, 0},
                {"18446744073709551614us 9us", -EINVAL, 0},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                uint64_t usec = 0;

                assert_row(i, parse_seconds(table[i].s, &usec) == table[i].r);
                assert_row(i, usec == table[i].usec);
        }
}

static void test_defaults(void **state)
{
        struct config c;

        config_init(&c);
        assert_int_equal(c.policy, POLICY_AUTO);
        assert_int_equal(c.quiet_usec, 2 * USEC_PER_SEC);
        assert_int_equal(c.hold_usec, 20 * USEC_PER_SEC);
        assert_int_equal(c.trial_usec, 600 * USEC_PER_SEC);
        assert_int_equal(c.unknown_target, DRIVER_UAS);
        assert_false(c.boot_entry_auto);
        assert_false(c.take_mounts);
        assert_int_equal(config_policy(&c, 1, 2, NULL), POLICY_AUTO);
        config_done(&c);
}

static void test_set(void **state)
{
        static const struct {
                const char *section, *key, *value;
                int r;
        } table[] = {
                {"uasd", "Policy", "usb-storage", 0},
                {"uasd", "Policy", "fast", -EINVAL},
                {"uasd", "Policy", "", -EINVAL},
                {"uasd", "QuietSec", "5", 0},
                {"uasd", "QuietSec", "soon", -EINVAL},
                {"uasd", "HoldSec", "0", 0},
                {"uasd", "HoldSec", "infinity", -EINVAL},
                {"uasd", "Unknown", "usb-storage", 0},
                {"uasd", "TrialSec", "0", 0},
                {"uasd", "TrialSec", "5min", 0},
                {"uasd", "TrialSec", "long", -EINVAL},
                {"uasd", "BootEntry", "ask", 0},
                {"uasd", "BootEntry", "auto", 0},
                {"uasd", "BootEntry", "yes", -EINVAL},
                {"uasd", "TakeMounts", "no", 0},
                {"uasd", "TakeMounts", "boot", 0},
                {"uasd", "TakeMounts", "yes", -EINVAL},
                {"uasd", "Unknown", "none", -EINVAL},
                {"uasd", "Unknown", "other", -EINVAL},
                {"uasd", "Unknown", "?", -EINVAL},
                {"uasd", "policy", "uas", -ENOENT},
                {"Uasd", "Policy", "uas", -ENOENT},
                {"", "Policy", "uas", -ENOENT},
                {"Disk 1209:5a5a", "Policy", "uas", 0},
                {"Disk 1209:5a5a", "Policy", "slow", -EINVAL},
                {"Disk 1209:5a5a", "HoldSec", "1", -ENOENT},
                {"Disk", "Policy", "uas", -ENOENT},
                {"Disk ", "Policy", "uas", -ENOENT},
                {"Disk 1209", "Policy", "uas", -ENOENT},
                {"Disk 1209:", "Policy", "uas", -ENOENT},
                {"Disk 1209:5a5g", "Policy", "uas", -ENOENT},
                {"Disk 1209:5a5a:", "Policy", "uas", -ENOENT},
                {"Disk 1209:5a5a: ", "Policy", "ignore", -ENOENT},
                {"Disk 1209:5a5a:A,B", "Policy", "ignore", -ENOENT},
                {"Disk 1209:15a5a", "Policy", "uas", -ENOENT},
                {"Disk :5a5a", "Policy", "uas", -ENOENT},
                {"Disk 1209-5a5a", "Policy", "uas", -ENOENT},
                {"Disk  0BDA:9210:A:B", "Policy", "ignore", 0},
                {"Disk 1:2", "Policy", "auto", 0},
        };
        struct config c;

        config_init(&c);
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_row(i, config_set(&c, table[i].section, table[i].key, table[i].value) ==
                                      table[i].r);
        assert_int_equal(c.policy, POLICY_USB_STORAGE);
        assert_int_equal(c.quiet_usec, 5 * USEC_PER_SEC);
        assert_int_equal(c.hold_usec, 0);
        assert_true(c.boot_entry_auto);
        assert_int_equal(c.unknown_target, DRIVER_USB_STORAGE);
        assert_int_equal(c.n_rules, 3);
        assert_int_equal(config_policy(&c, 1, 2, NULL), POLICY_AUTO);
        assert_int_equal(config_policy(&c, 0x0bda, 0x9210, "A:B"), POLICY_IGNORE);
        assert_int_equal(config_policy(&c, 0x0bda, 0x9210, "A"), POLICY_USB_STORAGE);
        assert_int_equal(config_set(&c, "uasd", "Policy", "auto"), 0);
        assert_int_equal(c.policy, POLICY_AUTO);
        config_done(&c);
        assert_int_equal(c.n_rules, 0);
        config_done(&c);
}

static void test_module_path(void **state)
{
        char longest[CONFIG_PATH_MAX + 1] = "/";
        struct config c;

        memset(longest + 1, 'x', CONFIG_PATH_MAX - 1);
        config_init(&c);
        assert_null(c.module);
        assert_int_equal(config_set(&c, "uasd", "Module", longest), -EINVAL);
        longest[CONFIG_PATH_MAX - 1] = '\0';
        assert_int_equal(config_set(&c, "uasd", "Module", longest), 0);
        assert_string_equal(c.module, longest);
        assert_int_equal(config_set(&c, "uasd", "Module", "/odd/uas.ko"), 0);
        assert_int_equal(config_set(&c, "uasd", "Module", "uas.ko"), -EINVAL);
        assert_string_equal(c.module, "/odd/uas.ko");
        assert_int_equal(config_set(&c, "uasd", "Module", ""), 0);
        assert_null(c.module);
        assert_int_equal(config_set(&c, "uasd", "Module", "/odd/uas.ko"), 0);
        config_done(&c);
        assert_null(c.module);
}

static void test_most_particular(void **state)
{
        static const struct {
                const char *section, *policy;
        } rules[] = {
                {"Disk 1209:5a5a:B", "ignore"},       {"Disk 1209:5a5a", "usb-storage"},
                {"Disk 1209:5a5a:A", "ignore"},       {"Disk 1209:5a5a:A", "uas"},
                {"Disk 1209:5a5b", "ignore"},         {"Disk 120a:5a5a", "ignore"},
                {"Disk 1209:5a5a", "ignore"},         {"Disk 1209:5a5a", "usb-storage"},
                {"Disk 1209:5a5a:B", "ignore"},       {"Disk 1209:5a5a: AB 12/x ", "uas"},
                {"Disk 1209:5a5a:AB_12_x", "ignore"},
        };
        struct config c;

        config_init(&c);
        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                assert_int_equal(config_set(&c, rules[i].section, "Policy", rules[i].policy), 0);
        assert_int_equal(c.n_rules, 6);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5a, "AB_12_x"), POLICY_IGNORE);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5a, "A"), POLICY_UAS);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5a, "B"), POLICY_IGNORE);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5a, "C"), POLICY_USB_STORAGE);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5a, NULL), POLICY_USB_STORAGE);
        assert_int_equal(config_policy(&c, 0x1209, 0x5a5c, "A"), POLICY_AUTO);
        config_done(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_seconds),
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_set),
                cmocka_unit_test(test_module_path),
                cmocka_unit_test(test_most_particular),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
