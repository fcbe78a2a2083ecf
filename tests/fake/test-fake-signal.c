/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include <signal.h>

#include "core/history.h"

/*
 * Ctrl-C, or SIGTERM at shutdown, after every operation. Before uasd-switch has touched the disk,
 * it ends at once. Later it gives the disk a driver within seconds, and leaves the trial without a
 * result.
 */

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void silent(struct fake_usb *u)
{
        u->silent_on_uas = true;
}

static const struct scene scenes[] = {
        /* clang-format off */
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .quirks = "1:2:u,1209:5a5a:fu", .counts = true, .watched = true, .signals = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .watched = true, .signals = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .automatic = true, .held = true, .watched = true, .signals = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 2, .automatic = true, .signals = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .plugged = true, .unscanned = true, .watched = true, .signals = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .unscanned = true, .unloaded = true, .watched = true, .signals = true},
        /* Without the signal these fail. */
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .watched = true, .signals = true, .prepare = stalls},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .watched = true, .signals = true, .prepare = silent},
        /* clang-format on */
};

/* The operation after which there is a verdict, in a switch without hooks. */
static unsigned verdict_of(const struct clean *c)
{
        unsigned locks = 0;

        for (unsigned n = 0; n + 1 < c->n; n++)
                if (streq(c->ops[n], "lock") && streq(c->ops[n + 1], "write history") &&
                    ++locks == 2)
                        return n + 1;
        return c->n + 1;
}

static bool signalled(const struct scene *s, const struct clean *c, unsigned n, int number)
{
        struct scene now = *s;
        struct result r = {0};
        const char *wrong = NULL;
        unsigned touched;
        uint64_t asked;
        bool good;
        int record;

        now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_SIGNAL, .error = number};
        scene_make(&now);
        fake->signalled_at = 0;
        scene_switch_in_child(&now, &r);
        asked = fake->signalled_at;
        touched = fake->usb[0].touched;
        record = scene_recorded(NULL);
        assert_int_not_equal(record, -ENODEV);
        if (r.code < 0)
                wrong = "it was killed";
        else if (!touched && r.code != UASD_EXIT_DEFERRED)
                wrong = "it has not touched the disk, and does not say so";
        else if (asked && fake->clock > asked + 15 * USEC_PER_SEC)
                wrong = "it took too long";
        else if (startswith(c->ops[n - 1], "delete ") && fake->usb[0].unbound > 0)
                wrong = "its driver had it still, and was unbound";
        else if (record == HISTORY_DISTRUSTED && n < verdict_of(c))
                wrong = "it is distrusted";
        else if (record == HISTORY_TRIAL && strcmp(c->ops[n - 1], "remove record") != 0 &&
                 n < c->n - 1)
                wrong = "its trial is open";
        if (!touched && s->held &&
            r.code == UASD_EXIT_DEFERRED) { /* the rest of the hold is for another try */
                now.held = false;
                tree_remove("run/uasd/hold/2-1:1.0");
        }
        good = sweep_verdict(&now, &r, strsignal(number), n, c->ops[n - 1],
                             wrong ? wrong : sweep_code(&now, r.code));
        scene_remove();
        return good;
}

static void test_signals(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct scene s = scenes[i];
                struct clean c;

                s.signals = false; /* this one runs in our own process */
                sweep_clean(&s, &c);
                for (unsigned n = 1; n <= c.n && !sweep_again(&c, n); n++)
                        all = signalled(&scenes[i], &c, n, n % 2 ? SIGTERM : SIGINT) && all;
        }
        assert_true(all);
}

/* Up to the trial it ends at the operation under way: no other one follows. */
static void test_at_once(void **state)
{
        static const char *const ops[] = {"users", "open sda", "sync sda", "fingerprint", "module"};

        for (size_t i = 0; i < ELEMENTSOF(ops); i++) {
                struct scene s = {.from = DRIVER_USB_STORAGE,
                                  .to = DRIVER_UAS,
                                  .partitions = 1,
                                  .signals = true};
                struct result r = {0};
                unsigned at = 0;

                s.hooks[0] = (struct fake_hook){
                        .op = ops[i], .nth = 1, .what = HOOK_SIGNAL, .error = SIGTERM};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                while (strncmp(fake->ops[at], ops[i], strlen(ops[i])) != 0)
                        at++;
                assert_int_equal(fake->n_ops, at + 1);
                assert_int_equal(r.code, UASD_EXIT_DEFERRED);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

/* The trial of a disk without a driver is on record before uas is loaded. Only a switch that has
 * not been ended leaves it there. */
static void test_without_driver(void **state)
{
        struct scene s = {.from = DRIVER_NONE, .to = DRIVER_UAS, .unloaded = true};
        unsigned ended = 0;
        struct clean c;

        sweep_clean(&s, &c);
        s.signals = true;
        for (unsigned n = 1; n <= c.n; n++) {
                struct result r = {0};

                s.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_SIGNAL, .error = SIGTERM};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                if (r.code == UASD_EXIT_DEFERRED)
                        ended++;
                else
                        assert_int_equal(r.code, UASD_EXIT_OK);
                assert_int_equal(scene_recorded(NULL), r.code == UASD_EXIT_OK ? HISTORY_ENDED : -1);
                scene_remove();
        }
        assert_true(ended > 10);
        assert_true(ended < c.n);
}

static void silent_on_both(struct fake_usb *u)
{
        u->silent_on_uas = u->silent_on_bot = true;
}

/* Its disk does not come back under the former driver either. There is no time to try others. */
static void test_silent(void **state)
{
        const struct scene s = {
                .from = DRIVER_USB_STORAGE,
                .to = DRIVER_UAS,
                .signals = true,
                .prepare = silent_on_both,
                .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_SIGNAL, .error = SIGTERM}}};
        struct result r = {0};

        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_int_equal(fake->usb[0].driver, DRIVER_USB_STORAGE);
        assert_int_equal(fake->usb[0].unbound, 2);
        assert_in_range(fake->clock - fake->signalled_at, 0, 15 * USEC_PER_SEC);
        scene_remove();
}

/* Each of the three waits while the trial is put on record. Then the disk is not touched. */
static void test_waits(void **state)
{
        static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                const struct scene s = {.from = DRIVER_USB_STORAGE,
                                        .to = DRIVER_UAS,
                                        .partitions = 1,
                                        .signals = true,
                                        .hooks = {{.op = "write history",
                                                   .nth = 1,
                                                   .what = HOOK_SIGNAL,
                                                   .error = numbers[i]}}};
                struct result r = {0};

                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, UASD_EXIT_DEFERRED);
                assert_int_equal(fake->usb[0].touched, 0);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_signals), cmocka_unit_test(test_at_once),
                cmocka_unit_test(test_without_driver), cmocka_unit_test(test_silent),
                cmocka_unit_test(test_waits)};

        /* a shell without job control leaves these ignored; uasd-switch respects that */
        (void) signal(SIGHUP, SIG_DFL);
        (void) signal(SIGINT, SIG_DFL);

        return cmocka_run_group_tests(tests, NULL, NULL);
}
