/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

/* Killed after every operation, then put in order by whoever finds the record. */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .quirks = "1:2:u,1209:5a5a:fu"},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .quirks = "1:2:u"},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .partitions = 1,
         .automatic = true,
         .held = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 3, .automatic = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .vendor = true},
};

/* With `again` nobody looks for the record before the next switch is begun. */
static bool killed(const struct scene *s, const struct clean *c, unsigned n, bool again)
{
        struct scene now = *s;
        struct result r = {0};
        bool good;

        now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_KILL_DONE};
        scene_make(&now);
        scene_switch_in_child(&now, &r);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        if (again) {
                now.held = false; /* its time is up by then */
                scene_switch(&now, &r);
                if (r.code != UASD_EXIT_OK)
                        fake_break("the next switch", "failed");
        } else if (r.code < 0 && scene_recover(&now) < 0)
                fake_break("recovery", "failed");
        good = sweep_verdict(&now, &r, again ? "killed, begun again" : "killed", n, c->ops[n - 1],
                             r.code < 0 || again ? NULL : sweep_code(&now, r.code));
        scene_remove();
        return good;
}

static void test_killed(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++)
                        all = sweep_again(&c, n) ? all : killed(&scenes[i], &c, n, false) && all;
        }
        assert_true(all);
}

static void test_begun_again(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++)
                        all = sweep_again(&c, n) ? all : killed(&scenes[i], &c, n, true) && all;
        }
        assert_true(all);
}

/* Killed at the one operation, and the one that puts it in order killed at every operation of its own. */
static bool killed_twice(const struct scene *s, const char *op, unsigned nth, unsigned n, bool *ret_more)
{
        struct scene now = *s;
        struct result r = {0};
        char what[64];
        bool good;

        now.hooks[0] = (struct fake_hook){.op = op, .nth = nth, .what = HOOK_KILL_DONE};
        scene_make(&now);
        scene_switch_in_child(&now, &r);
        assert_int_equal(r.code, -1);
        fake->n_ops = 0;
        fake->hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_KILL_DONE};
        if (scene_recover(&now) < 0)
                fake_break("recovery", "failed");
        *ret_more = fake->hooks[0].seen > n;
        (void) snprintf(what, sizeof(what), "killed after %s, again", op);
        good = sweep_verdict(&now, &r, what, n, fake->ops[n - 1], NULL);
        scene_remove();
        return good;
}

static void test_killed_twice(void **state)
{
        static const struct {
                const char *op;
                unsigned nth;
        } at[] = {
                {"delete", 1}, {"delete", 2}, {"unbind", 1},     {"quirks", 1},
                {"bind", 1},   {"trial", 1},  {"write hold", 1},
        };
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(at); i++) {
                const struct scene s = {.from = DRIVER_UAS,
                                        .to = DRIVER_USB_STORAGE,
                                        .luns = 2,
                                        .partitions = 1,
                                        .plugged = streq(at[i].op, "write hold")};
                bool more = true;

                if (strcmp(at[i].op, "trial") == 0)
                        continue; /* that is the child's, and its parent goes on */
                for (unsigned n = 1; more && n < 100; n++)
                        all = killed_twice(&s, at[i].op, at[i].nth, n, &more) && all;
        }
        assert_true(all);
}

/* udev waits for us: what an earlier one has left is put in order without waiting for udev, or telling it anything. */
static void test_in_udevs_event(void **state)
{
        static const char *const at[] = {"delete", "unbind", "bind"};
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(at); i++) {
                struct scene s = {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 2, .partitions = 1, .plugged = true};
                struct result r = {0};

                s.hooks[0] = (struct fake_hook){.op = at[i], .nth = 1, .what = HOOK_KILL_DONE};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, -1);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                fake->n_ops = 0;
                fake->udev_deaf = true; /* it is in the middle of this one */
                s.early = true;
                scene_switch(&s, &r);
                for (unsigned n = 0; n < fake->n_ops; n++)
                        if (streq(fake->ops[n], "events") || strncmp(fake->ops[n], "uevent", 6) == 0) {
                                print_error("killed after %s: %s at %u\n", at[i], fake->ops[n], n + 1);
                                all = false;
                        }
                if (fake->usb[0].driver != s.to) {
                        print_error("killed after %s: code %i at %s: %s\n", at[i], r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_udevs_event), cmocka_unit_test(test_killed),
                                           cmocka_unit_test(test_begun_again), cmocka_unit_test(test_killed_twice)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
