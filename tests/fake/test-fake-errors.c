/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"
#include <stdlib.h>

/* An error at every operation, with and without its effect; a disk that is none for a moment. With
 * a scene as argument, every errno in that scene. */

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static const struct scene scenes[] = {
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .quirks = "1:2:u,1209:5a5a:fu",
         .counts = true},
        {.asks = true,
         .from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .partitions = 1,
         .quirks = "1:2:u"},
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .partitions = 1,
         .automatic = true,
         .held = true},
        {.asks = true,
         .from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .luns = 2,
         .partitions = 1,
         .automatic = true},
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .vendor = true,
         .plugged = true,
         .unscanned = true},
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .plugged = true,
         .unscanned = true,
         .unloaded = true},
        /* written to while it is synced, and again before the claim */
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .hooks = {{0},
                   {.op = "sync", .nth = 1, .what = HOOK_WRITE},
                   {.op = "events", .nth = 1, .what = HOOK_WRITE}}},
        {.asks = true,
         .from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .prepare = stalls},
};

static const int errors[] = {EIO, ENODEV, EBUSY, ENOSPC, ETIMEDOUT, EAGAIN, ENOENT, ENOMEM};
#define ERRNO_MAX EHWPOISON

/* False for a write (a rename) and a removal (an unlink): they are done or not. */
static bool can_be_both(const char *op)
{
        return strncmp(op, "write", 5) != 0 && strncmp(op, "remove", 6) != 0;
}

static bool one(const struct scene *s, const struct clean *c, unsigned n, enum fake_what what,
                int error)
{
        struct scene now = *s;
        struct result r = {0};
        char text[64];
        bool good;

        if (sweep_leaves_out())
                return true;
        now.hooks[0] = (struct fake_hook){.nth = n, .what = what, .error = error};
        scene_make(&now);
        scene_switch(&now, &r);
        /* Only the next start of uasd can remove a record that could not be removed. */
        if (strcmp(c->ops[n - 1], "remove record") == 0)
                assert_int_equal(scene_recover(s), 0);
        (void) snprintf(text, sizeof(text), "%s%s",
                        what == HOOK_SKIP ? "no disk" : strerrorname_np(error),
                        what == HOOK_FAIL_DONE ? " though done" : "");
        memset(fake->hooks, 0, sizeof(fake->hooks)); /* the others may have no turn any more */
        good = sweep_verdict(&now, &r, text, n, c->ops[n - 1],
                             strstr(r.text, "it is in use already, and stays")
                                     ? NULL
                                     : sweep_code(&now, r.code));
        scene_remove();
        return good;
}

static bool comes_first(const struct clean *c, unsigned n, unsigned times)
{
        unsigned before = 0;

        for (unsigned i = 0; i + 1 < n; i++)
                before += streq(c->ops[i], c->ops[n - 1]);
        return before < times;
}

/* Runs all errors at the first and second operation of each name, in one scene per direction;
 * elsewhere one error. */
static void test_errors(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++) {
                        size_t how_many = i < 2 && comes_first(&c, n, 2) ? ELEMENTSOF(errors) : 1;

                        /* A switch that is rolled back is long, and repeats much of itself. */
                        if (sweep_again(&c, n) || (scenes[i].prepare && !comes_first(&c, n, 3)))
                                continue;
                        for (size_t e = 0; e < how_many; e++) {
                                all = one(&scenes[i], &c, n, HOOK_FAIL, errors[e]) && all;
                                if (e == 0 && can_be_both(c.ops[n - 1]))
                                        all = one(&scenes[i], &c, n, HOOK_FAIL_DONE, errors[e]) &&
                                              all;
                                if (e == 0 && streq(c.ops[n - 1], "read disk"))
                                        all = one(&scenes[i], &c, n, HOOK_SKIP, 0) && all;
                        }
                }
        }
        assert_true(all);
}

static const struct scene *scene;

static void test_every_errno(void **state)
{
        bool all = true;
        struct clean c;

        sweep_clean(scene, &c);
        for (unsigned n = 1; n <= c.n; n++)
                for (int error = 1; error <= ERRNO_MAX && comes_first(&c, n, 1); error++)
                        if (strerrorname_np(error))
                                all = one(scene, &c, n, HOOK_FAIL, error) && all;
        assert_true(all);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)},
                                every[] = {cmocka_unit_test(test_every_errno)};
        unsigned long number = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

        if (argc == 1)
                return cmocka_run_group_tests(tests, NULL, NULL);
        assert_in_range(number, 0, ELEMENTSOF(scenes) - 1);
        scene = &scenes[number];
        return cmocka_run_group_tests(every, NULL, NULL);
}
