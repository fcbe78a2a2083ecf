/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

/* The examination of the new disk, and its way back if it shows another size. Children open, claim
 * and sync it. */

static void shrinks(struct fake_usb *u)
{
        u->shrinks_on_uas = true;
}

static const struct scene scene = {
        .from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .prepare = shrinks};

/* The number of the last operation with that name in a switch without hooks. */
static unsigned last(const char *op)
{
        struct clean c;
        unsigned n = 0;

        sweep_clean(&scene, &c);
        for (unsigned i = 0; i < c.n; i++)
                if (strncmp(c.ops[i], op, strlen(op)) == 0)
                        n = i + 1;
        assert_int_not_equal(n, 0);
        return n;
}

/* A program has written to the disk while the examination had it open. */
static void play(struct fake_hook hook, int code, enum driver driver, const char *said)
{
        struct scene s = scene;
        struct result r;

        s.hooks[0] = (struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_WRITE};
        s.hooks[1] = hook;
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, code);
        assert_int_equal(fake->usb[0].driver, driver);
        assert_non_null(strstr(r.text, said));
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* The sync takes longer than a disk that does not answer is waited for. But data reaches the disk
 * all the time. */
static void test_slow_sync(void **state)
{
        play((struct fake_hook){.nth = last("sync sda"), .what = HOOK_SLOW, .error = 3},
             UASD_EXIT_ROLLED_BACK, DRIVER_USB_STORAGE, "another disk shows");
}

/* Data that still reaches the disk after 10 s is a use: the disk stays. */
static void test_endless_sync(void **state)
{
        play((struct fake_hook){.nth = last("sync sda"), .what = HOOK_SLOW, .error = 20},
             UASD_EXIT_FAILED, DRIVER_UAS, "; it is in use already, and stays");
}

/* A child that dies in the sync has not synced: another one does. */
static void test_killed_in_the_sync(void **state)
{
        play((struct fake_hook){.nth = last("sync sda"), .what = HOOK_KILL}, UASD_EXIT_ROLLED_BACK,
             DRIVER_USB_STORAGE, "another disk shows");
}

/* A child that has not even begun has no claim. It does not count as one that hangs in the open. */
static void test_not_begun(void **state)
{
        play((struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_STARVE},
             UASD_EXIT_FAILED, DRIVER_UAS,
             "; whether it is in use cannot be found out, so it stays");
}

/*
 * Another program's data delays the close of the examination until the end of its time. Its answer
 * has come before, and uasd-switch does not wait for the child.
 */
static void test_slow_close(void **state)
{
        static const struct scene s = {
                .from = DRIVER_USB_STORAGE,
                .to = DRIVER_UAS,
                .partitions = 1,
                .hooks = {{.op = "trial", .nth = 1, .what = HOOK_WAIT, .error = 9},
                          {.op = "close", .nth = 2, .what = HOOK_HANG}}};
        struct result r;

        assert_true(scene_play(&s, "its close hangs", &r));
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(r.driver, DRIVER_UAS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slow_sync), cmocka_unit_test(test_endless_sync),
                cmocka_unit_test(test_killed_in_the_sync), cmocka_unit_test(test_not_begun),
                cmocka_unit_test(test_slow_close)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
