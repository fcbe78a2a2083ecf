/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include "core/history.h"

/*
 * The machine sleeps for an hour after every operation. Budgets count only the time awake. So the
 * switch ends as it would without the sleep, and the bridge is not distrusted.
 */

static const struct scene scenes[] = {
        /* clang-format off */
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .counts = true, .watched = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .watched = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .plugged = true, .automatic = true, .watched = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .automatic = true, .held = true, .watched = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 2, .partitions = 1, .automatic = true, .held = true, .watched = true},
        /* clang-format on */
};

static bool is_distrusted(void)
{
        int record = scene_recorded(NULL);

        assert_int_not_equal(record, -ENODEV);
        return record == HISTORY_DISTRUSTED;
}

static bool sleeps(const struct scene *s, const struct clean *c, unsigned n)
{
        struct scene now = *s;
        struct result r = {0};
        const char *wrong;
        bool good;

        now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_SLEEP, .error = 3600};
        scene_make(&now);
        scene_switch(&now, &r);
        wrong = is_distrusted()          ? "it is distrusted"
                : r.code != UASD_EXIT_OK ? "it was not switched"
                                         : sweep_code(&now, r.code);
        good = sweep_verdict(&now, &r, "asleep", n, c->ops[n - 1], wrong);
        scene_remove();
        return good;
}

static void test_asleep_anywhere(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n && !sweep_again(&c, n); n++)
                        all = sleeps(&scenes[i], &c, n) && all;
        }
        assert_true(all);
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

/* A sleep may break a bridge that would not break otherwise. */
static void test_fails_after_a_sleep(void **state)
{
        for (int asleep = 0; asleep < 2; asleep++) {
                struct scene s = {.from = DRIVER_USB_STORAGE,
                                  .to = DRIVER_UAS,
                                  .partitions = 1,
                                  .watched = true,
                                  .prepare = garbles};
                struct result r;

                if (asleep)
                        s.hooks[0] = (struct fake_hook){
                                .op = "bind", .nth = 1, .what = HOOK_SLEEP, .error = 3600};
                scene_make(&s);
                scene_switch(&s, &r);
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(strstr(r.text, "; the machine slept meanwhile") != NULL, asleep);
                assert_int_equal(is_distrusted(), !asleep);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_asleep_anywhere),
                                           cmocka_unit_test(test_fails_after_a_sleep)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
