/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/names.h"
#include "play.h"
#include "sys/io/sysfs.h"

/* Disks that a switch meets in an unusual state: no disks yet, no driver, a row in the kernel's
 * tables. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

/* `install uas /bin/false` */
static void forever(struct fake_usb *u)
{
        fake->uas_loadable = false;
}

static void hitachi(struct fake_usb *u)
{
        fakesys_set_ids(u, 0x4971, 0x1012);
}

static void vl817(struct fake_usb *u)
{
        fakesys_set_ids(u, 0x2109, 0x0715);
}

static void no_pid1(struct fake_usb *u)
{
        fake->no_pid1 = true;
}

static void already(struct fake_usb *u)
{
        fake->stopping = true; /* a disk that is already there needs no help from PID 1 */
}

static const struct {
        const char *what;
        struct scene s;
        int code;
        enum driver driver;
} table[] = {
        /* clang-format off */
        {"inside delay_use", {BOT, UAS, .plugged = true, .unscanned = true}, 0, UAS},
        {"inside delay_use, two LUNs",
         {BOT, UAS, .luns = 2, .plugged = true, .unscanned = true},
         0,
         UAS},
        {"inside delay_use, vendor kernel", {BOT, UAS, .vendor = true, .unscanned = true}, 0, UAS},
        {"inside delay_use, it fails",
         {BOT, UAS, .unscanned = true,
          .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_FAIL, .error = EIO}}},
         7,
         BOT},
        {"inside delay_use, and the disk appears before the unbind",
         {BOT, UAS, .unscanned = true,
          .hooks = {{.op = "write record", .nth = 3, .what = HOOK_WAIT, .error = 2}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"inside delay_use, and the probe of its driver declines it before the unbind",
         {BOT, UAS, .plugged = true, .unscanned = true, .unloaded = true,
          .hooks = {{.op = "unbind usb-storage", .nth = 1, .what = HOOK_UNBIND}}},
         0,
         UAS},
        {"inside delay_use, and PID 1 does not answer",
         {BOT, UAS, .plugged = true, .unscanned = true,
          .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ETIMEDOUT}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"inside delay_use, and PID 1 has no timer",
         {BOT, UAS, .plugged = true, .unscanned = true,
          .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ENOENT}}},
         0,
         UAS},
        {"inside delay_use, uas not loaded", {BOT, UAS, .plugged = true, .unscanned = true, .unloaded = true}, 0, UAS},
        {"inside delay_use, vendor kernel, uas not loaded", {BOT, UAS, .vendor = true, .unscanned = true, .unloaded = true}, 0, UAS},
        {"inside delay_use, uas not to be had",
         {BOT, UAS, .vendor = true, .plugged = true, .unscanned = true, .unloaded = true, .prepare = forever},
         UASD_EXIT_FAILED,
         BOT},
        {"inside delay_use, and the lock of the quirks is kept",
         {BOT, UAS, .plugged = true, .vendor = true, .unscanned = true, .hooks = {{.op = "unbind usb-storage", .nth = 1, .what = HOOK_LOCK}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"inside delay_use, and its trial cannot be put on record",
         {BOT, UAS, .plugged = true, .unscanned = true, .hooks = {{.op = "write history", .nth = 1, .on = true, .what = HOOK_FAIL, .error = EIO}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"driverless, and PID 1 does not answer",
         {DRIVER_NONE, UAS, .plugged = true,
          .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ETIMEDOUT}}},
         0,
         UAS},
        {"driverless, and PID 1 cannot be reached",
         {DRIVER_NONE, UAS, .plugged = true, .hooks = {{.op = "pid1", .nth = 1, .what = HOOK_FAIL, .error = EAGAIN}}},
         0,
         UAS},
        {"driverless", {DRIVER_NONE, UAS}, 0, UAS},
        {"driverless, to usb-storage", {DRIVER_NONE, BOT, .luns = 2}, 0, BOT},
        {"driverless, uas not loaded", {DRIVER_NONE, UAS, .unloaded = true}, 0, UAS},
        {"driverless, uas not to be had, to usb-storage", {DRIVER_NONE, BOT, .unloaded = true, .prepare = forever}, 0, BOT},
        {"driverless, uas not to be had",
         {DRIVER_NONE, UAS, .unloaded = true, .prepare = forever},
         UASD_EXIT_FAILED,
         DRIVER_NONE},
        {"vendor kernel, uas not loaded", {BOT, UAS, .vendor = true, .unloaded = true}, 0, UAS},
        {"against a row of both tables", {BOT, UAS, .prepare = hitachi}, 0, UAS},
        {"a row of usb-storage's alone", {BOT, UAS, .prepare = vl817}, 0, UAS},
        {"the same, back", {UAS, BOT, .prepare = vl817}, 0, BOT},
        {"without PID 1", {UAS, BOT, .partitions = 2, .prepare = no_pid1}, 0, BOT},
        {"there already", {UAS, UAS, .prepare = already}, 0, UAS},
        /* clang-format on */
};

static unsigned number_of(const char *op)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (strncmp(fake->ops[i], op, strlen(op)) == 0)
                        return i + 1;
        return 0;
}

/* Number of records of a trial, as long as no other disk has one. */
static unsigned n_trials(void)
{
        char text[4096];

        return attr_read(fake->roots.etc, "uasd/" STATE_HISTORY, text, sizeof(text)) > 0 &&
               strstr(text, "state=trial");
}

static void test_beginnings(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const struct scene *s = &table[i].s;
                struct result r;
                const char *wrong;

                scene_make(s);
                scene_switch(s, &r);
                wrong = scene_wrong(s);
                if (wrong && table[i].driver == DRIVER_NONE && strstr(wrong, "without a driver"))
                        wrong = NULL; /* as before */
                if (!wrong && r.code == UASD_EXIT_DEFERRED && fake->usb[0].touched && !s->unscanned)
                        wrong = "it was touched";
                /* No hold of this switch: the disk is as new, and its first event decides about a
                 * hold. */
                if (!wrong && r.code == UASD_EXIT_DEFERRED && s->unscanned &&
                    (number_of("write hold") || n_trials()))
                        wrong = "the disk does not look new";
                if (wrong || r.code != table[i].code || fake->usb[0].driver != table[i].driver) {
                        print_error("%s: %s; on %s, code %i at %s: %s\n", table[i].what,
                                    wrong ? wrong : "-", driver_to_string(fake->usb[0].driver),
                                    r.code, r.step, r.text);
                        scene_print_ops();
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* Inside delay_use no block device exists on the wrong driver at any time (v 13). */
static void test_never_seen(void **state)
{
        static const struct scene s = {BOT, UAS, .plugged = true, .unscanned = true};
        struct result r;
        uint64_t before;

        scene_make(&s);
        before = fake->diskseq;
        scene_switch(&s, &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(fake->diskseq, before + 1);
        assert_int_equal(fake->usb[0].luns[0].letter, 0);
        scene_remove();
}

/* PID 1 starts the timer while the disk has its driver. The switch does not wait for PID 1 between
 * unbind and bind. */
static void test_timer_first(void **state)
{
        static const struct scene s = {BOT, UAS, .plugged = true, .partitions = 1};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, 0);
        assert_in_range(number_of("arm timer"), 1, number_of("unbind") - 1);
        assert_int_equal(fake->timers, 1);
        scene_remove();
}

/* A held disk had no user before, and during a boot PID 1 is slow: it is asked nothing. */
static void test_held_without_pid1(void **state)
{
        static const struct scene s = {BOT, UAS, .automatic = true, .held = true, .partitions = 1};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(number_of("pid1"), 0);
        assert_int_equal(number_of("ask pid1"), 0);
        assert_int_equal(number_of("arm timer"), 0);
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* uas is being loaded: its folder is there. It has not been offered the interfaces without a driver
 * yet. */
static void being_registered(struct fake_usb *u)
{
        tree_write("", "sys/bus/usb/drivers/uas/uevent");
}

/*
 * Inside delay_use the unbind comes before all that takes time. If uas is not loaded, the trial
 * comes before it: otherwise uas would have the disk as soon as it is loaded, by whatever process.
 */
static void test_unbind_first(void **state)
{
        static const char *const later[] = {"module", "lock quirks", "arm timer",
                                            "write attachment", "bind uas"};

        for (unsigned way = 0; way < 3; way++) {
                const struct scene s = {BOT,
                                        UAS,
                                        .plugged = true,
                                        .vendor = true,
                                        .unscanned = true,
                                        .unloaded = way > 0,
                                        .prepare = way == 2 ? being_registered : NULL};
                struct result r;
                unsigned unbind;

                scene_make(&s);
                scene_switch(&s, &r);
                assert_int_equal(r.code, 0);
                assert_null(scene_wrong(&s));
                unbind = number_of("unbind usb-storage");
                assert_in_range(unbind, 1, 15);
                assert_int_equal(number_of("write history") < unbind, way > 0);
                for (size_t i = 0; i < ELEMENTSOF(later); i++)
                        if (number_of(later[i]) && number_of(later[i]) < unbind &&
                            !streq(later[i], "write attachment"))
                                fail_msg("%s before the unbind", later[i]);
                scene_remove();
        }
}

/* udev loads uas at any moment, as it does at the first plug-in. Then uas takes a disk without a
 * driver. */
static void test_loaded_meanwhile(void **state)
{
        const struct scene s = {
                BOT, UAS, .plugged = true, .vendor = true, .unscanned = true, .unloaded = true};
        struct result r;
        unsigned all;

        scene_make(&s);
        scene_switch(&s, &r);
        all = fake->n_ops;
        scene_remove();
        for (unsigned n = 1; n <= all; n++) {
                struct scene now = s;

                now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_LOAD};
                assert_true(scene_play(&now, "uas was loaded meanwhile", &r));
                assert_int_equal(r.code, 0);
                assert_int_equal(r.driver, UAS);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_beginnings),   cmocka_unit_test(test_never_seen),
                cmocka_unit_test(test_timer_first),  cmocka_unit_test(test_held_without_pid1),
                cmocka_unit_test(test_unbind_first), cmocka_unit_test(test_loaded_meanwhile)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
