/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/history.h"
#include "core/types.h"

#include "unit.h"

/* Every value has its own name, and the name leads back to the value. */
#define DEFINE_TEST(name, max)                                                                     \
        static void test_##name(void **state)                                                      \
        {                                                                                          \
                for (int v = 0; v < (int) (max); v++) {                                            \
                        const char *s = name##_to_string((enum name) v);                           \
                        assert_non_null(s);                                                        \
                        assert_true(*s);                                                           \
                        assert_int_equal(name##_from_string(s), v);                                \
                }                                                                                  \
                assert_null(name##_to_string((enum name)(max)));                                   \
                assert_int_equal(name##_from_string("no such word"), -EINVAL);                     \
                assert_int_equal(name##_from_string(""), -EINVAL);                                 \
                assert_int_equal(name##_from_string(NULL), -EINVAL);                               \
        }

DEFINE_TEST(driver, _DRIVER_MAX)
DEFINE_TEST(policy, _POLICY_MAX)
DEFINE_TEST(policy_source, _POLICY_SOURCE_MAX)
DEFINE_TEST(state, _STATE_MAX)
DEFINE_TEST(verdict, _VERDICT_MAX)
DEFINE_TEST(reason, _REASON_MAX)
DEFINE_TEST(user_kind, _USER_KIND_MAX)
DEFINE_TEST(history_state, _HISTORY_MAX)

/* These names are part of the public interface. */
static void test_contract(void **state)
{
        static const char *const states[] = {"settled", "held",    "waiting", "switching", "trial",
                                             "failed",  "unbound", "ignored", "incapable"};
        static const char *const kinds[] = {"mount", "swap", "holder", "open", "loop", "claim"};
        static const char *const policies[] = {"auto", "uas", "usb-storage", "ignore"};

        for (size_t i = 0; i < ELEMENTSOF(states); i++)
                assert_row(i, state_from_string(states[i]) >= 0);
        assert_int_equal(ELEMENTSOF(states), _STATE_MAX);
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                assert_row(i, user_kind_from_string(kinds[i]) >= 0);
        assert_int_equal(ELEMENTSOF(kinds), _USER_KIND_MAX);
        for (size_t i = 0; i < ELEMENTSOF(policies); i++)
                assert_row(i, policy_from_string(policies[i]) >= 0);
        assert_int_equal(ELEMENTSOF(policies), _POLICY_MAX);
        assert_string_equal(driver_or_empty(DRIVER_UAS), "uas");
        assert_string_equal(driver_or_empty(DRIVER_NONE), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_driver),        cmocka_unit_test(test_policy),
                cmocka_unit_test(test_policy_source), cmocka_unit_test(test_state),
                cmocka_unit_test(test_verdict),       cmocka_unit_test(test_reason),
                cmocka_unit_test(test_user_kind),     cmocka_unit_test(test_history_state),
                cmocka_unit_test(test_contract),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
