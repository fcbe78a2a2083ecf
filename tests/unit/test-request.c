/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/request.h"

#include "common/exit-codes.h"
#include "core/disk-words.h"
#include "unit.h"

/* Whether a request has ended, with which status, and whether the earlier override applies again.
 */
static const struct {
        const char *what;
        enum state state;
        enum reason reason; /* of the decision */
        enum state rest;
        enum driver driver, to;
        int code; /* of the switch that has ended; -1: no switch has */
        bool cancelled;
        bool ended, undo;
        int exit;
} ends[] = {
        /* clang-format off */
        {"being switched", STATE_SWITCHING, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, -1, false, false, false, 0},
        {"in use", STATE_WAITING, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, -1, false, false, false, 0},
        {"held", STATE_HELD, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, -1, false, false, false, 0},
        {"without a driver for a moment", STATE_UNBOUND, REASON_JUST_UNBOUND, STATE_UNBOUND, DRIVER_NONE, DRIVER_UAS, -1, false, false, false, 0},
        {"moved", STATE_TRIAL, REASON_POLICY, STATE_SETTLED, DRIVER_UAS, DRIVER_UAS, UASD_EXIT_OK, false, true, false, UASD_EXIT_OK},
        {"rolled back", STATE_FAILED, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, UASD_EXIT_ROLLED_BACK, false, true, false,
         UASD_EXIT_ROLLED_BACK},
        {"rolled back, and it waits to leave uas", STATE_WAITING, REASON_POLICY, STATE_SETTLED, DRIVER_UAS, DRIVER_UAS, UASD_EXIT_ROLLED_BACK, false, true,
         false, UASD_EXIT_ROLLED_BACK},
        {"there already", STATE_SETTLED, REASON_POLICY, STATE_SETTLED, DRIVER_UAS, DRIVER_UAS, -1, false, true, false, UASD_EXIT_OK},
        {"what policy says", STATE_SETTLED, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_NONE, -1, false, true, false, UASD_EXIT_OK},
        {"cancelled", STATE_SETTLED, REASON_POLICY, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, -1, true, true, false, UASD_EXIT_FAILED},
        {"cancelled without a driver", STATE_UNBOUND, REASON_JUST_UNBOUND, STATE_UNBOUND, DRIVER_NONE, DRIVER_UAS, -1, true, true, false,
         UASD_EXIT_FAILED},
        {"refused since", STATE_SETTLED, REASON_VERDICT_BAD, STATE_SETTLED, DRIVER_USB_STORAGE, DRIVER_UAS, -1, false, true, true, UASD_EXIT_REFUSED},
        {"not capable after all", STATE_INCAPABLE, REASON_NO_UAS, STATE_INCAPABLE, DRIVER_USB_STORAGE, DRIVER_UAS, -1, false, true, true,
         UASD_EXIT_INCAPABLE},
        /* clang-format on */
};

static void test_ended(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                struct life l;
                struct request_end end = {.code = -1, .step = "?", .text = "?", .undo = true};
                char why[sizeof(end.text)];
                bool ended;

                life_init(&l);
                l.disk.state = ends[i].state;
                l.disk.decision.reason = ends[i].reason;
                l.disk.decision.rest = ends[i].rest;
                l.disk.facts.driver = ends[i].driver;
                l.disk.outcome.code = ends[i].code;
                (void) copy_string(l.disk.outcome.step, sizeof(l.disk.outcome.step), "verify");
                (void) copy_string(l.disk.outcome.text, sizeof(l.disk.outcome.text),
                                   "as the switch said");
                l.cancelled = ends[i].cancelled;
                ended = request_ended(&l, ends[i].to, &end);
                if (ended != ends[i].ended ||
                    (ended && (end.code != ends[i].exit || end.undo != ends[i].undo)))
                        fail_msg("%s: ended %i, code %i, undo %i", ends[i].what, ended, end.code,
                                 end.undo);
                if (ended && ends[i].code >= 0) {
                        assert_string_equal(end.step, "verify");
                        assert_string_equal(end.text, "as the switch said");
                } else if (ended) {
                        assert_string_equal(end.step, "");
                        assert_string_equal(end.text, disk_reason(&l.disk, why, sizeof(why)));
                }
                disk_done(&l.disk);
        }
}

/* The override that EVENT_CANCEL leaves. */
static const struct {
        const char *what;
        struct facts f;
        enum driver target; /* of the decision */
        bool requested;
        enum driver overridden; /* the override before the request */
        enum driver stays;
} cancels[] = {
        /* clang-format off */
        {"an override that the disk does not follow yet", {.driver = DRIVER_USB_STORAGE, .override_target = DRIVER_UAS}, DRIVER_UAS, false, DRIVER_NONE,
         DRIVER_NONE},
        {"an override, and something else is wanted", {.driver = DRIVER_UAS, .override_target = DRIVER_UAS}, DRIVER_USB_STORAGE, false, DRIVER_NONE,
         DRIVER_UAS},
        {"a request, and none before", {.driver = DRIVER_USB_STORAGE, .override_target = DRIVER_UAS}, DRIVER_UAS, true, DRIVER_NONE, DRIVER_NONE},
        {"a request in the place of an override", {.driver = DRIVER_USB_STORAGE, .override_target = DRIVER_UAS}, DRIVER_UAS, true, DRIVER_USB_STORAGE,
         DRIVER_USB_STORAGE},
        {"the same, on uas", {.driver = DRIVER_UAS}, DRIVER_USB_STORAGE, true, DRIVER_UAS, DRIVER_UAS},
        {"the same, distrusted", {.driver = DRIVER_UAS, .distrusted = true}, DRIVER_USB_STORAGE, true, DRIVER_UAS, DRIVER_NONE},
        {"an override that was not followed", {.driver = DRIVER_USB_STORAGE}, DRIVER_UAS, true, DRIVER_UAS, DRIVER_NONE},
        /* clang-format on */
};

static void test_cancelled(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(cancels); i++) {
                struct life l;
                struct event cancel;

                life_init(&l);
                l.disk.facts = cancels[i].f;
                l.disk.facts.override_forced = true;
                l.disk.decision.target = cancels[i].target;
                cancel =
                        request_cancel_event(&l, cancels[i].requested, cancels[i].overridden, true);
                assert_int_equal(cancel.type, EVENT_CANCEL);
                if (cancel.target != cancels[i].stays ||
                    cancel.force != (cancels[i].stays != DRIVER_NONE))
                        fail_msg("%s: %i, forced %i", cancels[i].what, (int) cancel.target,
                                 cancel.force);
                disk_done(&l.disk);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_ended),
                                           cmocka_unit_test(test_cancelled)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
