/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "play.h"

/* Disks that a switch meets in an unusual state: no disks yet, no driver, a row in the kernel's tables. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

/* Just plugged in: usb-storage is bound and waits for delay_use before it scans. */
static void inside_delay_use(struct fake_usb *u)
{
        char before[sizeof(fake->quirks)];

        memcpy(before, fake->quirks, sizeof(before));
        fakesys_set_quirks("1209:5a5a:u");
        (void) kernel_unbind(u->driver, u->interface);
        assert_int_equal(kernel_bind(BOT, u->interface), 0);
        fakesys_set_quirks(before);
        u->touched = 0;
        fake->lost = fake->at_risk = 0;
        assert_int_not_equal(u->scan_due, 0);
}

/* `blacklist uas`: usb-storage declines, and there is no other driver (v 6). */
static void uas_blacklisted(struct fake_usb *u)
{
        fake->uas_loaded = false;
        tree_remove("sys/bus/usb/drivers/uas");
}

static void forever(struct fake_usb *u)
{
        uas_blacklisted(u);
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
        {"inside delay_use", {BOT, UAS, .plugged = true, .prepare = inside_delay_use}, 0, UAS},
        {"inside delay_use, two LUNs",
         {BOT, UAS, .luns = 2, .plugged = true, .prepare = inside_delay_use},
         0,
         UAS},
        {"inside delay_use, vendor kernel", {BOT, UAS, .vendor = true, .prepare = inside_delay_use}, 0, UAS},
        {"inside delay_use, it fails",
         {BOT, UAS, .prepare = inside_delay_use,
          .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_FAIL, .error = EIO}}},
         7,
         BOT},
        {"inside delay_use, and the disk appears before the unbind",
         {BOT, UAS, .prepare = inside_delay_use,
          .hooks = {{.op = "write record", .nth = 5, .what = HOOK_WAIT, .error = 2}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"inside delay_use, and PID 1 does not answer",
         {BOT, UAS, .plugged = true, .prepare = inside_delay_use,
          .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ETIMEDOUT}}},
         UASD_EXIT_DEFERRED,
         BOT},
        {"inside delay_use, and PID 1 has no timer",
         {BOT, UAS, .plugged = true, .prepare = inside_delay_use,
          .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ENOENT}}},
         0,
         UAS},
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
        {"driverless, uas not loaded", {DRIVER_NONE, UAS, .prepare = uas_blacklisted}, 0, UAS},
        {"driverless, uas not to be had, to usb-storage", {DRIVER_NONE, BOT, .prepare = forever}, 0, BOT},
        {"driverless, uas not to be had",
         {DRIVER_NONE, UAS, .prepare = forever},
         UASD_EXIT_FAILED,
         DRIVER_NONE},
        {"vendor kernel, uas not loaded", {BOT, UAS, .vendor = true, .prepare = uas_blacklisted}, 0, UAS},
        {"against a row of both tables", {BOT, UAS, .prepare = hitachi}, 0, UAS},
        {"a row of usb-storage's alone", {BOT, UAS, .prepare = vl817}, 0, UAS},
        {"the same, back", {UAS, BOT, .prepare = vl817}, 0, BOT},
        {"without PID 1", {UAS, BOT, .partitions = 2, .prepare = no_pid1}, 0, BOT},
        {"there already", {UAS, UAS, .prepare = already}, 0, UAS},
        /* clang-format on */
};

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
                if (!wrong && r.code == UASD_EXIT_DEFERRED && fake->usb[0].touched)
                        wrong = "it was touched";
                if (wrong || r.code != table[i].code || fake->usb[0].driver != table[i].driver) {
                        print_error("%s: %s; on %s, code %i at %s: %s\n", table[i].what, wrong ? wrong : "-",
                                    driver_to_string(fake->usb[0].driver), r.code, r.step, r.text);
                        for (unsigned k = 0; k < fake->n_ops; k++)
                                print_error(" [%u %s]", k + 1, fake->ops[k]);
                        print_error("\n");
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* Inside delay_use no block device exists on the wrong driver at any time (v 13). */
static void test_never_seen(void **state)
{
        static const struct scene s = {BOT, UAS, .plugged = true, .prepare = inside_delay_use};
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

static unsigned number_of(const char *op)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (strncmp(fake->ops[i], op, strlen(op)) == 0)
                        return i + 1;
        return 0;
}

/* PID 1 starts the timer while the disk has its driver. The switch does not wait for PID 1 between unbind and bind. */
static void test_timer_first(void **state)
{
        static const struct scene scenes[] = {{BOT, UAS, .plugged = true, .prepare = inside_delay_use},
                                              {BOT, UAS, .plugged = true, .partitions = 1}};

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct result r;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                assert_int_equal(r.code, 0);
                assert_in_range(number_of("arm timer"), 1, number_of("unbind") - 1);
                assert_int_equal(fake->timers, 1);
                scene_remove();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_beginnings), cmocka_unit_test(test_never_seen),
                                           cmocka_unit_test(test_timer_first)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
