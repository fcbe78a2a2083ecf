/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/brief.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sys/io/clock.h"

static void speeds(void **state)
{
        static const struct {
                unsigned mbps;
                const char *text;
        } rows[] = {{12, "12 Mbit/s"},
                    {480, "480 Mbit/s"},
                    {5000, "5 Gbit/s"},
                    {20000, "20 Gbit/s"},
                    {1500, "1500 Mbit/s"}};
        char text[32];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(brief_speed(rows[i].mbps, text, sizeof(text)), rows[i].text);
}

static void times(void **state)
{
        static const struct {
                usec_t seconds;
                const char *text;
        } rows[] = {{0, "0 s"},         {59, "59 s"},       {60, "1 min"},     {61, "2 min"},
                    {7199, "120 min"},  {7200, "2 h"},      {7201, "3 h"},     {172799, "48 h"},
                    {172800, "2 days"}, {259199, "2 days"}, {259200, "3 days"}};
        char text[32];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(brief_time(rows[i].seconds * USEC_PER_SEC, text, sizeof(text)),
                                    rows[i].text);
        assert_string_equal(brief_time(1, text, sizeof(text)), "1 s");
}

static void states(void **state)
{
        struct user users[] = {{.kind = USER_SWAP},
                               {.kind = USER_HOLDER, .where = (char *) "dm-0"},
                               {.kind = USER_MOUNT, .where = (char *) "/mnt/a"},
                               {.kind = USER_OPEN, .command = (char *) "dd"},
                               {.kind = USER_OPEN}};
        usec_t now = now_boottime();
        const struct {
                struct view view;
                const char *text;
                bool advice;
        } rows[] = {
                {{.disk.state = STATE_SETTLED}, "ok", false},
                {{.disk = {.state = STATE_SETTLED,
                           .facts = {.speed_mbps = 480, .max_speed_mbps = 5000}}},
                 "slow link",
                 true},
                {{.disk = {.state = STATE_SETTLED, .decision.reason = REASON_DISTRUSTED}},
                 "distrusted",
                 false},
                {{.disk = {.state = STATE_SETTLED, .decision.reason = REASON_TRIAL_FAILED}},
                 "distrusted",
                 false},
                {{.disk = {.state = STATE_SETTLED, .decision.reason = REASON_DISTRUSTED},
                  .diagnosis = "Not uas."},
                 "errors",
                 true},
                {{.disk = {.state = STATE_SETTLED, .lease = "A lease.", .cancelled = true}},
                 "leased",
                 false},
                {{.disk = {.state = STATE_SETTLED, .cancelled = true}}, "cancelled", false},
                {{.disk = {.state = STATE_SETTLED,
                           .unattended = true,
                           .facts.driver = DRIVER_USB_STORAGE,
                           .decision.target = DRIVER_UAS}},
                 "needs uasd",
                 true},
                {{.disk.state = STATE_TRIAL, .ends = now + 390 * USEC_PER_SEC},
                 "trial, 7 min left",
                 false},
                {{.disk.state = STATE_TRIAL, .ends = now - 1}, "trial", false},
                {{.disk.state = STATE_TRIAL}, "trial", false},
                {{.disk.state = STATE_HELD}, "held", false},
                {{.disk.state = STATE_HELD, .ends = now + 600 * USEC_PER_SEC},
                 "held, 10 min left",
                 false},
                {{.disk.state = STATE_WAITING}, "waiting", false},
                {{.disk = {.state = STATE_WAITING, .inhibited = (char *) "dd: busy."}},
                 "waiting: inhibited",
                 false},
                {{.disk = {.state = STATE_WAITING, .users = users, .n_users = 3}},
                 "waiting: /mnt/a +2",
                 false},
                {{.disk = {.state = STATE_WAITING, .users = users, .n_users = 1}},
                 "waiting: swap",
                 false},
                {{.disk = {.state = STATE_WAITING, .users = users + 1, .n_users = 1}},
                 "waiting: dm-0",
                 false},
                {{.disk = {.state = STATE_WAITING, .users = users + 3, .n_users = 2}},
                 "waiting: dd +1",
                 false},
                {{.disk = {.state = STATE_WAITING, .users = users + 4, .n_users = 1}},
                 "waiting: in use",
                 false},
                {{.disk.state = STATE_SWITCHING}, "switching", false},
                {{.disk.state = STATE_FAILED}, "failed", true},
                {{.disk.state = STATE_UNBOUND}, "no driver", true},
                {{.disk.state = STATE_IGNORED}, "ignored", false},
                {{.disk = {.state = STATE_INCAPABLE, .decision.reason = REASON_NO_UAS}},
                 "BOT only",
                 false},
                {{.disk = {.state = STATE_INCAPABLE, .decision.reason = REASON_BAD_DESCRIPTORS}},
                 "unreadable",
                 false},
        };
        char text[BRIEF_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_string_equal(brief_state(&rows[i].view, text), rows[i].text);
                assert_int_equal(brief_advice(&rows[i].view), rows[i].advice);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(speeds),
                cmocka_unit_test(times),
                cmocka_unit_test(states),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
