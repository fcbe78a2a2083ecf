/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/request.h"

#include "core/explain.h"
#include "core/policy.h"
#include "unit.h"

#define BOTH .authorized = true, .caps = {.bot = true, .uas = true, .pipes = true}
#define NOT_AUTHORIZED .caps = {.bot = true, .uas = true, .pipes = true}
#define BOT_ALONE .authorized = true, .caps = {.bot = true}
#define UAS_ALONE .authorized = true, .caps = {.uas = true, .pipes = true}
#define PLAIN .vid = 0x1209, .pid = 0x5a5a
#define VIA .vid = 0x2109, .pid = 0x0715 /* IGNORE_UAS in the kernel's table */
#define BAD .verdict = VERDICT_BAD
#define ON_BOT .driver = DRIVER_USB_STORAGE
#define ON_UAS .driver = DRIVER_UAS
#define FORCED(p) .policy = (p), .policy_forced = true, .policy_source = POLICY_BY_USER

#define assert_case(name, condition)                                                               \
        do {                                                                                       \
                if (!(condition))                                                                  \
                        fail_msg("%s: %s", name, #condition);                                      \
        } while (0)

#define OK UASD_EXIT_OK
#define INCAPABLE UASD_EXIT_INCAPABLE
#define REFUSED UASD_EXIT_REFUSED
#define NONE _REASON_MAX

static const struct {
        const char *what;
        struct facts f;
        enum driver target;
        enum uasd_exit code, forced; /* without force, and with it */
        enum reason reason;          /* without force */
} switches[] = {
        /* clang-format off */
        {"an ordinary disk", {BOTH, PLAIN, ON_BOT}, DRIVER_UAS, OK, OK, NONE},
        {"and back", {BOTH, PLAIN, ON_UAS}, DRIVER_USB_STORAGE, OK, OK, NONE},
        {"without a target", {BOT_ALONE, ON_BOT}, DRIVER_NONE, OK, OK, NONE},
        {"no UAS", {BOT_ALONE, ON_BOT}, DRIVER_UAS, INCAPABLE, INCAPABLE, REASON_NO_UAS},
        {"no UAS, and it is there already", {BOT_ALONE, ON_BOT}, DRIVER_USB_STORAGE, OK, OK, NONE},
        {"UAS alone", {UAS_ALONE, PLAIN, ON_UAS}, DRIVER_USB_STORAGE, INCAPABLE, INCAPABLE, REASON_NO_BOT},
        {"UAS alone, and it is there already", {UAS_ALONE, PLAIN, ON_UAS}, DRIVER_UAS, OK, OK, NONE},
        {"the kernel's table", {BOTH, VIA, ON_BOT}, DRIVER_UAS, REFUSED, OK, REASON_FORCE_NEEDED},
        {"the kernel's table, and usb-storage", {BOTH, VIA, ON_BOT}, DRIVER_USB_STORAGE, OK, OK, NONE},
        {"the kernel's table, bound by hand", {BOTH, VIA, ON_UAS}, DRIVER_UAS, REFUSED, OK, REASON_FORCE_NEEDED},
        {"the kernel's table, forced before", {BOTH, VIA, ON_UAS, FORCED(POLICY_UAS)}, DRIVER_UAS, OK, OK, NONE},
        {"the database", {BOTH, PLAIN, ON_BOT, BAD}, DRIVER_UAS, REFUSED, OK, REASON_VERDICT_BAD},
        {"the database, and usb-storage", {BOTH, PLAIN, ON_UAS, BAD}, DRIVER_USB_STORAGE, OK, OK, NONE},
        {"the database, and the configuration says uas", {BOTH, PLAIN, ON_UAS, BAD, .policy = POLICY_UAS}, DRIVER_UAS, OK, OK, NONE},
        {"its own history", {BOTH, PLAIN, ON_BOT, BAD, .distrusted = true, .verdict_by_past = true}, DRIVER_UAS, OK, OK, NONE},
        {"the database and its own history", {BOTH, PLAIN, ON_BOT, BAD, .distrusted = true}, DRIVER_UAS, REFUSED, OK, REASON_VERDICT_BAD},
        {"a forced policy", {BOTH, PLAIN, ON_BOT, FORCED(POLICY_USB_STORAGE)}, DRIVER_UAS, REFUSED, OK, REASON_POLICY},
        {"a forced policy to ignore it", {BOTH, PLAIN, ON_BOT, FORCED(POLICY_IGNORE)}, DRIVER_UAS, REFUSED, OK, REASON_POLICY_IGNORE},
        {"a policy", {BOTH, PLAIN, ON_BOT, .policy = POLICY_IGNORE}, DRIVER_UAS, OK, OK, NONE},
        {"another driver", {BOTH, PLAIN, .driver = DRIVER_OTHER}, DRIVER_UAS, REFUSED, REFUSED, REASON_OTHER_DRIVER},
        {"not authorized", {NOT_AUTHORIZED, PLAIN, ON_BOT}, DRIVER_UAS, REFUSED, REFUSED, REASON_UNAUTHORIZED},
        {"unbound a moment ago", {BOTH, PLAIN, .just_unbound = true}, DRIVER_UAS, OK, OK, NONE},
        {"unbound a moment ago, and in the table", {BOTH, VIA, .just_unbound = true}, DRIVER_UAS, REFUSED, OK, REASON_FORCE_NEEDED},
        /* clang-format on */
};

static const struct {
        const char *what;
        struct facts f;
        enum policy policy;
        enum uasd_exit code, forced;
        enum reason reason;
} policies[] = {
        /* clang-format off */
        {"an ordinary disk", {BOTH, PLAIN, ON_BOT}, POLICY_UAS, OK, OK, NONE},
        {"no UAS", {BOT_ALONE, ON_BOT}, POLICY_UAS, INCAPABLE, INCAPABLE, REASON_NO_UAS},
        {"no UAS, and usb-storage", {BOT_ALONE, ON_BOT}, POLICY_USB_STORAGE, OK, OK, NONE},
        {"UAS alone", {UAS_ALONE, PLAIN, ON_UAS}, POLICY_USB_STORAGE, INCAPABLE, INCAPABLE, REASON_NO_BOT},
        {"UAS alone, and uas", {UAS_ALONE, PLAIN, ON_UAS}, POLICY_UAS, OK, OK, NONE},
        {"the kernel's table", {BOTH, VIA, ON_BOT}, POLICY_UAS, REFUSED, OK, REASON_FORCE_NEEDED},
        {"the kernel's table, switched by force", {BOTH, VIA, ON_UAS, .override_target = DRIVER_UAS, .override_forced = true}, POLICY_UAS,
         REFUSED, OK, REASON_FORCE_NEEDED},
        {"the kernel's table, and auto", {BOTH, VIA, ON_BOT}, POLICY_AUTO, OK, OK, NONE},
        {"the database", {BOTH, PLAIN, ON_BOT, BAD}, POLICY_UAS, REFUSED, OK, REASON_VERDICT_BAD},
        {"the database, switched by force", {BOTH, PLAIN, ON_UAS, BAD, .override_target = DRIVER_UAS, .override_forced = true}, POLICY_UAS,
         REFUSED, OK, REASON_VERDICT_BAD},
        {"the database, and the configuration says uas", {BOTH, PLAIN, ON_UAS, BAD, .policy = POLICY_UAS}, POLICY_UAS, OK, OK, NONE},
        {"a trial that failed", {BOTH, PLAIN, ON_BOT, BAD, .verdict_by_past = true, .distrusted = true, .trial_failed = true}, POLICY_UAS, OK, OK,
         NONE},
        {"switched to usb-storage", {BOTH, PLAIN, ON_BOT, .override_target = DRIVER_USB_STORAGE}, POLICY_UAS, OK, OK, NONE},
        {"a forced policy", {BOTH, PLAIN, ON_BOT, FORCED(POLICY_USB_STORAGE)}, POLICY_UAS, OK, OK, NONE},
        {"another driver", {BOTH, PLAIN, .driver = DRIVER_OTHER}, POLICY_UAS, OK, OK, NONE},
        {"another driver, and in the table", {BOTH, VIA, .driver = DRIVER_OTHER}, POLICY_UAS, REFUSED, OK, REASON_FORCE_NEEDED},
        {"not authorized", {NOT_AUTHORIZED, PLAIN}, POLICY_UAS, OK, OK, NONE},
        {"unbound a moment ago", {BOTH, PLAIN, .just_unbound = true}, POLICY_UAS, OK, OK, NONE},
        /* clang-format on */
};

static void check(const struct refusal *r, const struct refusal *forced, enum uasd_exit code,
                  enum uasd_exit code_forced, enum reason reason, const char *row)
{
        assert_case(row, r->code == code && forced->code == code_forced);
        if (code == OK)
                return;
        assert_case(row, r->reason == reason && r->force_helps == (code_forced == OK) &&
                                 !forced->force_helps);
        assert_case(row,
                    streq(refusal_text(r), reason == REASON_POLICY || reason == REASON_POLICY_IGNORE
                                                   ? "Its policy was set with force."
                                                   : reason_sentence(reason)));
}

static void of_switch(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(switches); i++) {
                struct refusal r, forced;

                refuse_switch(&switches[i].f, switches[i].target, false, &r);
                refuse_switch(&switches[i].f, switches[i].target, true, &forced);
                check(&r, &forced, switches[i].code, switches[i].forced, switches[i].reason,
                      switches[i].what);
        }
}

static void of_policy(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(policies); i++) {
                struct refusal r, forced;

                refuse_policy(&policies[i].f, policies[i].policy, false, &r);
                refuse_policy(&policies[i].f, policies[i].policy, true, &forced);
                check(&r, &forced, policies[i].code, policies[i].forced, policies[i].reason,
                      policies[i].what);
        }
}

/* A target that is not refused is also the decision. */
static void kept(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(switches); i++)
                for (int force = 0; force < 2; force++) {
                        struct facts f = switches[i].f;
                        struct decision d;
                        struct refusal r;

                        refuse_switch(&f, switches[i].target, force, &r);
                        if (r.code != OK || switches[i].target == DRIVER_NONE)
                                continue;
                        f.just_unbound = false;
                        f.override_target = switches[i].target;
                        f.override_forced = force;
                        decide(&f, &d);
                        assert_case(switches[i].what, d.target == switches[i].target ||
                                                              (d.target == DRIVER_NONE &&
                                                               f.driver == switches[i].target));
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(of_switch),
                cmocka_unit_test(of_policy),
                cmocka_unit_test(kept),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
