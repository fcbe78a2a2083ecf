/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/policy.h"

#include "unit.h"

/* As long as the kernel takes it. The last entry counts as well. */
#define FULL                                                                                                                   \
        "1111:1111:abcdefghijklmnopqrstuwy,2222:2222:abcdefghijklmnopqrstuwy,3333:3333:abcdefghijklmnopqrstuwy,4444:4444:abc," \
        "1209:5a5a:u"
_Static_assert(sizeof(FULL) == QUIRKS_MAX + 1, "");

#define BOTH .authorized = true, .caps = {.bot = true, .uas = true, .pipes = true}
#define UAS_ALONE .authorized = true, .caps = {.uas = true, .pipes = true}
#define GOOD .verdict = VERDICT_GOOD
#define ON_BOT .driver = DRIVER_USB_STORAGE
#define ON_UAS .driver = DRIVER_UAS
#define HITACHI .vid = 0x4971, .pid = 0x1012                    /* IGNORE_UAS in unusual_uas.h */
#define VIA .vid = 0x2109, .pid = 0x0715                        /* only in unusual_devs.h */
#define ASM1051 .vid = 0x174c, .pid = 0x55aa, .speed_mbps = 480 /* with .max_power: a rule */
#define PLAIN .vid = 0x1209, .pid = 0x5a5a
#define WANT_UAS .policy = POLICY_UAS
#define WANT_BOT .policy = POLICY_USB_STORAGE
#define SWITCH_UAS .override_target = DRIVER_UAS
#define SWITCH_BOT .override_target = DRIVER_USB_STORAGE

#define LEAVE DRIVER_NONE
#define TO_BOT DRIVER_USB_STORAGE
#define TO_UAS DRIVER_UAS

static const struct {
        const char *what;
        struct facts f;
        enum driver target;
        enum state rest;
        enum reason reason;
        bool wants_switch;
} table[] = {
        /* clang-format off */
        {"nothing speaks against it", {BOTH, GOOD, ON_BOT}, TO_UAS, STATE_SETTLED, REASON_FASTEST, true},
        {"already there", {BOTH, GOOD, ON_UAS}, TO_UAS, STATE_SETTLED, REASON_FASTEST, false},
        {"no driver, and none needed to be kept away",
         {BOTH, GOOD},
         TO_UAS,
         STATE_UNBOUND,
         REASON_FASTEST,
         true},

        {"no descriptors",
         {.caps_error = -EBADMSG, ON_BOT, BOTH},
         LEAVE,
         STATE_INCAPABLE,
         REASON_BAD_DESCRIPTORS},
        {"a plain stick",
         {.caps = {.bot = true}, .authorized = true, ON_BOT, WANT_UAS},
         LEAVE,
         STATE_INCAPABLE,
         REASON_NO_UAS},
        {"no pipe usage",
         {.caps = {.bot = true, .uas = true}, .authorized = true, ON_BOT, SWITCH_UAS},
         LEAVE,
         STATE_INCAPABLE,
         REASON_NO_PIPES},
        {"not capable comes before another's",
         {.caps = {.bot = true}, .authorized = true, .driver = DRIVER_OTHER},
         LEAVE,
         STATE_INCAPABLE,
         REASON_NO_UAS},

        {"another's",
         {BOTH, GOOD, .driver = DRIVER_OTHER, SWITCH_UAS},
         LEAVE,
         STATE_IGNORED,
         REASON_OTHER_DRIVER},
        {"not authorized",
         {.caps = {.bot = true, .uas = true, .pipes = true}, GOOD, WANT_UAS},
         LEAVE,
         STATE_IGNORED,
         REASON_UNAUTHORIZED},
        {"just unbound", {BOTH, GOOD, .just_unbound = true}, LEAVE, STATE_IGNORED, REASON_JUST_UNBOUND},
        {"bound again", {BOTH, GOOD, ON_UAS, .just_unbound = true}, TO_UAS, STATE_SETTLED, REASON_FASTEST},

        {"policy ignore",
         {BOTH, GOOD, ON_BOT, .policy = POLICY_IGNORE},
         LEAVE,
         STATE_IGNORED,
         REASON_POLICY_IGNORE},
        {"a switch comes before policy ignore",
         {BOTH, GOOD, ON_BOT, .policy = POLICY_IGNORE, SWITCH_UAS},
         TO_UAS,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"a switch comes before policy uas",
         {BOTH, GOOD, ON_UAS, WANT_UAS, SWITCH_BOT},
         TO_BOT,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"a switch to something else is none",
         {BOTH, GOOD, ON_UAS, .override_target = DRIVER_OTHER},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST},
        {"it fails under usb-storage, and stays there",
         {BOTH, GOOD, ON_BOT, .trouble = "it had to be reset"},
         DRIVER_NONE,
         STATE_SETTLED,
         REASON_NOT_UAS,
         false},
        {"a policy is older than the trouble",
         {BOTH, GOOD, ON_BOT, WANT_UAS, .trouble = "it had to be reset"},
         DRIVER_NONE,
         STATE_SETTLED,
         REASON_NOT_UAS,
         false},
        {"a user who asks for uas knows of the trouble",
         {BOTH, GOOD, ON_BOT, SWITCH_UAS, .trouble = "it had to be reset"},
         TO_UAS,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"on uas it can fail as well, and then leaves it",
         {BOTH, GOOD, ON_UAS, .distrusted = true, .trouble = "it had to be reset"},
         TO_BOT,
         STATE_SETTLED,
         REASON_DISTRUSTED,
         true},
        {"a disk without UAS has no choice",
         {.caps = {.bot = true}, ON_BOT, .trouble = "it had to be reset"},
         DRIVER_NONE,
         STATE_INCAPABLE,
         REASON_NO_UAS,
         false},
        {"policy uas, and its trial there failed",
         {BOTH, GOOD, ON_UAS, WANT_UAS, .distrusted = true, .trial_failed = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_TRIAL_FAILED,
         true},
        {"a user who asks for uas knows of the trial",
         {BOTH, GOOD, ON_BOT, SWITCH_UAS, .distrusted = true, .trial_failed = true},
         TO_UAS,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"without a policy a failed trial is distrust like any other",
         {BOTH, GOOD, ON_UAS, .distrusted = true, .trial_failed = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_DISTRUSTED,
         true},
        {"a forced policy goes before an override that was not forced",
         {BOTH, VIA, ON_BOT, WANT_UAS, .policy_forced = true, SWITCH_BOT},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"a refused request does not stand in its way",
         {BOTH, VIA, ON_BOT, WANT_UAS, .policy_forced = true, SWITCH_UAS},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"a forced override goes before it",
         {BOTH, VIA, ON_UAS, WANT_UAS, .policy_forced = true, SWITCH_BOT, .override_forced = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"a forced policy to ignore it", {BOTH, GOOD, ON_BOT, .policy = POLICY_IGNORE, .policy_forced = true, SWITCH_UAS}, LEAVE,
         STATE_IGNORED, REASON_POLICY_IGNORE},
        {"policy usb-storage", {BOTH, GOOD, ON_UAS, WANT_BOT}, TO_BOT, STATE_SETTLED, REASON_POLICY, true},
        {"policy uas against verdict, history and quirk",
         {BOTH, PLAIN, ON_BOT, WANT_UAS, .verdict = VERDICT_BAD, .distrusted = true, .quirks = "1209:5a5a:u"},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"policy uas against what is thought of the controller",
         {BOTH, GOOD, ON_BOT, WANT_UAS, .no_streams = true, .no_sg = true, .speed_mbps = 5000},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"policy uas brings the module",
         {BOTH, GOOD, WANT_UAS, .uas_kept_away = true},
         TO_UAS,
         STATE_UNBOUND,
         REASON_POLICY,
         true},

        {"UAS alone", {UAS_ALONE, GOOD, ON_UAS}, LEAVE, STATE_SETTLED, REASON_NO_BOT},
        {"UAS alone, policy usb-storage",
         {UAS_ALONE, GOOD, ON_UAS, WANT_BOT},
         LEAVE,
         STATE_SETTLED,
         REASON_NO_BOT},
        {"UAS alone, switched to usb-storage",
         {UAS_ALONE, GOOD, SWITCH_BOT, .uas_kept_away = true},
         LEAVE,
         STATE_UNBOUND,
         REASON_NO_BOT},
        {"UAS alone, in the kernel's table", {UAS_ALONE, GOOD, HITACHI}, LEAVE, STATE_UNBOUND, REASON_NO_BOT},
        {"UAS alone, policy uas against the table",
         {UAS_ALONE, GOOD, HITACHI, WANT_UAS},
         LEAVE,
         STATE_UNBOUND,
         REASON_FORCE_NEEDED},
        {"UAS alone, policy uas by force",
         {UAS_ALONE, GOOD, HITACHI, WANT_UAS, .policy_forced = true},
         TO_UAS,
         STATE_UNBOUND,
         REASON_POLICY,
         true},
        {"UAS alone, and ignored",
         {UAS_ALONE, GOOD, ON_UAS, .policy = POLICY_IGNORE},
         LEAVE,
         STATE_IGNORED,
         REASON_POLICY_IGNORE},
        {"UAS alone, uas kept away: told, not touched",
         {UAS_ALONE, GOOD, .uas_kept_away = true},
         LEAVE,
         STATE_UNBOUND,
         REASON_UAS_KEPT_AWAY},
        {"UAS alone, distrusted, on quirk u",
         {UAS_ALONE, PLAIN, .distrusted = true, .quirks = "1209:5a5a:u"},
         LEAVE,
         STATE_UNBOUND,
         REASON_NO_BOT},

        {"UAS alone, distrusted, on an entry of our own",
         {UAS_ALONE, PLAIN, .distrusted = true, .quirks = "1209:5a5a:u", .quirks_own = "1209:5a5a:u"},
         TO_UAS,
         STATE_UNBOUND,
         REASON_NO_BOT,
         true},
        {"UAS alone, policy usb-storage, no driver", {UAS_ALONE, GOOD, WANT_BOT}, TO_UAS, STATE_UNBOUND, REASON_NO_BOT, true},
        {"UAS alone, no driver, no streams",
         {UAS_ALONE, GOOD, .no_streams = true, .speed_mbps = 5000},
         LEAVE,
         STATE_UNBOUND,
         REASON_NO_BOT},
        {"UAS alone, no driver, no streams needed",
         {UAS_ALONE, GOOD, .no_streams = true, .speed_mbps = 480},
         TO_UAS,
         STATE_UNBOUND,
         REASON_NO_BOT,
         true},
        {"UAS alone, no driver, no scatter-gather", {UAS_ALONE, GOOD, .no_sg = true}, LEAVE, STATE_UNBOUND, REASON_NO_BOT},

        {"uas kept away",
         {BOTH, GOOD, .uas_kept_away = true},
         TO_BOT,
         STATE_UNBOUND,
         REASON_UAS_KEPT_AWAY,
         true},
        {"uas kept away, and brought to usb-storage for that",
         {BOTH, GOOD, ON_BOT, .uas_kept_away = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_UAS_KEPT_AWAY,
         false},
        {"uas kept away from others",
         {BOTH, GOOD, ON_UAS, .uas_kept_away = true},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         false},

        {"distrusted",
         {BOTH, GOOD, ON_UAS, .distrusted = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_DISTRUSTED,
         true},
        {"distrusted comes before the verdict",
         {BOTH, ON_UAS, .distrusted = true, .verdict = VERDICT_BAD},
         TO_BOT,
         STATE_SETTLED,
         REASON_DISTRUSTED,
         true},
        {"bad", {BOTH, ON_UAS, .verdict = VERDICT_BAD}, TO_BOT, STATE_SETTLED, REASON_VERDICT_BAD, true},
        {"quirk u",
         {BOTH, PLAIN, GOOD, ON_UAS, .quirks = "1209:5a5a:fu"},
         TO_BOT,
         STATE_SETTLED,
         REASON_QUIRK,
         true},
        {"quirk u at the end of a full parameter", {BOTH, PLAIN, GOOD, ON_UAS, .quirks = FULL}, TO_BOT, STATE_SETTLED, REASON_QUIRK, true},
        {"quirk u, our own since the initramfs",
         {BOTH, PLAIN, GOOD, ON_BOT, .quirks = "1209:5a5a:u", .quirks_own = "1209:5a5a:u"},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         true},
        {"quirk u, our own, and the user's as well",
         {BOTH, PLAIN, GOOD, ON_BOT, .quirks = "1209:5a5a:u,1209:5a5a:u", .quirks_own = "1209:5a5a:u"},
         TO_BOT,
         STATE_SETTLED,
         REASON_QUIRK,
         false},
        {"our own quirk, removed by a user",
         {BOTH, PLAIN, GOOD, ON_BOT, .quirks_own = "1209:5a5a:u"},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         true},
        {"another's quirk",
         {BOTH, PLAIN, GOOD, ON_UAS, .quirks = "1209:5a5b:u"},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         false},
        {"quirk without u",
         {BOTH, PLAIN, GOOD, ON_UAS, .quirks = "1209:5a5a:f,1209:5a5a:u"},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         false},

        {"the kernel's table",
         {BOTH, HITACHI, GOOD, ON_BOT},
         TO_BOT,
         STATE_SETTLED,
         REASON_KERNEL_TABLE,
         false},
        {"usb-storage's own row", {BOTH, VIA, GOOD, ON_UAS}, TO_BOT, STATE_SETTLED, REASON_KERNEL_TABLE, true},
        {"a quirk that replaces the table",
         {BOTH, HITACHI, GOOD, ON_BOT, .quirks = "4971:1012:"},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         true},
        {"policy uas against the table",
         {BOTH, HITACHI, GOOD, ON_BOT, WANT_UAS},
         TO_BOT,
         STATE_SETTLED,
         REASON_FORCE_NEEDED,
         false},
        {"policy uas against usb-storage's own row",
         {BOTH, VIA, GOOD, ON_UAS, WANT_UAS},
         TO_BOT,
         STATE_SETTLED,
         REASON_FORCE_NEEDED,
         true},
        {"policy uas by force",
         {BOTH, HITACHI, GOOD, ON_BOT, WANT_UAS, .policy_forced = true},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"policy uas, the quirk has replaced the table",
         {BOTH, HITACHI, GOOD, ON_BOT, WANT_UAS, .quirks = "4971:1012:"},
         TO_UAS,
         STATE_SETTLED,
         REASON_POLICY,
         true},
        {"switch against the table",
         {BOTH, HITACHI, GOOD, ON_BOT, SWITCH_UAS, .policy_forced = true},
         TO_BOT,
         STATE_SETTLED,
         REASON_FORCE_NEEDED,
         false},
        {"switch by force",
         {BOTH, HITACHI, GOOD, ON_BOT, SWITCH_UAS, .override_forced = true},
         TO_UAS,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"switch to usb-storage needs none",
         {BOTH, HITACHI, GOOD, ON_UAS, SWITCH_BOT},
         TO_BOT,
         STATE_SETTLED,
         REASON_OVERRIDE,
         true},
        {"the kernel's rule",
         {.authorized = true,
          .caps = {.bot = true, .uas = true, .pipes = true, .max_power = 1},
          ASM1051,
          GOOD,
          ON_BOT},
         TO_BOT,
         STATE_SETTLED,
         REASON_KERNEL_RULE,
         false},
        {"policy uas against the rule",
         {.authorized = true,
          .caps = {.bot = true, .uas = true, .pipes = true, .max_power = 1},
          ASM1051,
          GOOD,
          ON_BOT,
          WANT_UAS},
         TO_BOT,
         STATE_SETTLED,
         REASON_FORCE_NEEDED,
         false},
        {"ASM1153", {BOTH, ASM1051, GOOD, ON_BOT}, TO_UAS, STATE_SETTLED, REASON_FASTEST, true},
        {"by its strings",
         {BOTH, .vid = 0x0bda, .pid = 0x9210, .manufacturer = "HIKSEMI", .product = "MD202", GOOD, ON_BOT},
         TO_BOT,
         STATE_SETTLED,
         REASON_KERNEL_RULE,
         false},

        {"no streams",
         {BOTH, GOOD, ON_BOT, .no_streams = true, .speed_mbps = 5000},
         TO_BOT,
         STATE_SETTLED,
         REASON_NO_STREAMS,
         false},
        {"high speed needs none",
         {BOTH, GOOD, ON_BOT, .no_streams = true, .speed_mbps = 480},
         TO_UAS,
         STATE_SETTLED,
         REASON_FASTEST,
         true},
        {"no scatter-gather",
         {BOTH, GOOD, ON_BOT, .no_sg = true, .speed_mbps = 480},
         TO_BOT,
         STATE_SETTLED,
         REASON_NO_SG,
         false},

        {"unknown",
         {BOTH, ON_BOT, .unknown_target = DRIVER_UAS},
         TO_UAS,
         STATE_SETTLED,
         REASON_UNKNOWN_BRIDGE,
         true},
        {"unknown, and careful",
         {BOTH, ON_UAS, .unknown_target = DRIVER_USB_STORAGE},
         TO_BOT,
         STATE_SETTLED,
         REASON_UNKNOWN_BRIDGE,
         true},
        /* clang-format on */
};

static void test_table(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct decision d = {};

                decide(&table[i].f, &d);
                if (d.target != table[i].target || d.rest != table[i].rest ||
                    d.reason != table[i].reason)
                        fail_msg("%s: to %s, rest %s, reason %s", table[i].what,
                                 driver_to_string(d.target), state_to_string(d.rest),
                                 reason_to_string(d.reason));
                if (decision_wants_switch(&table[i].f, &d) != table[i].wants_switch)
                        fail_msg("%s: wants a switch: %d", table[i].what, !table[i].wants_switch);
        }
}

static void test_every_reason_decides(void **state)
{
        bool seen[_REASON_MAX] = {};

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                seen[table[i].reason] = true;
        for (size_t i = 0; i < _REASON_MAX; i++)
                assert_row(i, seen[i]);
}

/* Every combination of the boolean facts. Two laws hold whatever the rows say. */
static void test_laws(void **state)
{
        static const enum policy policies[] = {POLICY_AUTO, POLICY_UAS, POLICY_USB_STORAGE,
                                               POLICY_IGNORE};
        static const enum driver drivers[] = {DRIVER_NONE, DRIVER_USB_STORAGE, DRIVER_UAS,
                                              DRIVER_OTHER};

        for (unsigned bits = 0; bits < 1U << 21; bits++) {
                struct decision d;
                struct facts f = {
                        .vid = bits & 1 ? 0x4971 : 0x1209,
                        .pid = bits & 1 ? 0x1012 : 0x5a5a,
                        .authorized = bits & 2,
                        .caps = {.bot = bits & 4, .uas = bits & 8, .pipes = bits & 16},
                        .uas_kept_away = bits & 32,
                        .distrusted = bits & 64,
                        .no_sg = bits & 128,
                        .policy_forced = bits & 256,
                        .override_forced = bits & 512,
                        .policy = policies[bits >> 10 & 3],
                        .driver = drivers[bits >> 12 & 3],
                        .override_target = drivers[bits >> 14 & 3],
                        .verdict = (enum verdict)((bits >> 16 & 3) % 3),
                        .just_unbound = bits >> 18 & 1,
                        .trial_failed = bits >> 20 & 1,
                        .unknown_target = bits >> 19 & 1 ? DRIVER_UAS : DRIVER_USB_STORAGE,
                };

                decide(&f, &d);
                if (d.target == DRIVER_USB_STORAGE)
                        assert_true(f.caps.bot);
                if (d.target != DRIVER_NONE)
                        assert_true(f.caps.uas && f.caps.pipes && f.authorized &&
                                    f.driver != DRIVER_OTHER);
                assert_true(d.target != DRIVER_OTHER);
        }
}

static void test_bridge(void **state)
{
        static const struct facts f = {
                .vid = 1,
                .pid = 2,
                .bcd = 3,
                .speed_mbps = 4,
                .caps = {.status_streams = 5, .max_power = 6},
                .manufacturer = "m",
                .product = "p",
        };
        struct bridge b;

        facts_bridge(&f, &b);
        assert_int_equal(b.vid, 1);
        assert_int_equal(b.pid, 2);
        assert_int_equal(b.bcd, 3);
        assert_int_equal(b.speed_mbps, 4);
        assert_int_equal(b.status_streams, 5);
        assert_int_equal(b.max_power, 6);
        assert_string_equal(b.manufacturer, "m");
        assert_string_equal(b.product, "p");
}

/* Uas only after a trial. uasd does nothing that the kernel is about to do by itself. In coldplug
 * it does nothing else. */
static void test_early(void **state)
{
        static const struct {
                struct facts f;
                bool initramfs, coldplug;
        } rows[] = {
                {{BOTH, GOOD, ON_BOT}, false, false},
                {{BOTH, GOOD, ON_BOT, WANT_UAS}, false, false},
                {{BOTH, GOOD, ON_BOT, .trial_passed = true}, true, true},
                {{BOTH, GOOD, .trial_passed = true}, false, false},
                {{BOTH, GOOD, ON_UAS, .trial_passed = true}, false, false},
                {{BOTH, GOOD, ON_BOT, WANT_BOT, .trial_passed = true}, false, false},
                {{BOTH, GOOD, ON_UAS, WANT_BOT}, true, false},
                {{BOTH, GOOD, WANT_BOT}, true, false},
                {{BOTH, GOOD, ON_UAS, .distrusted = true}, true, false},
                {{BOTH, GOOD, ON_BOT, .distrusted = true}, false, false},
                {{BOTH, GOOD, ON_BOT, .policy = POLICY_IGNORE}, false, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct decision d;

                decide(&rows[i].f, &d);
                if (decision_fits_early(&rows[i].f, &d, true) != rows[i].initramfs ||
                    decision_fits_early(&rows[i].f, &d, false) != rows[i].coldplug)
                        fail_msg("row %zu", i);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table), cmocka_unit_test(test_every_reason_decides),
                cmocka_unit_test(test_laws),  cmocka_unit_test(test_bridge),
                cmocka_unit_test(test_early),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
