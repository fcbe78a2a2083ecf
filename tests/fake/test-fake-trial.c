/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"
#include <fcntl.h>

#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/usb/usbdisk.h"

/*
 * A disk is never on uas for the first time without that being on record, whatever happens to its switch; and none is held to be
 * on trial that is not.
 */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .counts = true, .watched = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .automatic = true, .held = true, .watched = true},
};

static void facts_of(struct facts *ret)
{
        struct usb_disk d = {0};

        memset(fake->hooks, 0, sizeof(fake->hooks));
        assert_int_equal(usb_disk_read(&fake->roots, "2-1:1.0", true, &d), 1);
        *ret = d.facts;
        usb_disk_done(&d);
}

/* The state on record, or -1. */
static int recorded(struct history *ret)
{
        struct facts f;

        facts_of(&f);
        return history_read(&fake->roots, &f, ret) > 0 ? (int) ret->state : -1;
}

static void keep(const struct history *h)
{
        struct facts f;

        facts_of(&f);
        assert_int_equal(history_write(&fake->roots, &f, h), 0);
}

/* A switch with this on record before, NULL: nothing; it succeeds, and this is on record after it. */
static void switched(const struct scene *s, const struct history *before, int after, struct history *ret)
{
        struct result r;

        scene_make(s);
        if (before)
                keep(before);
        scene_switch(s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(recorded(ret), after);
        scene_remove();
}

static void test_first_switch(void **state)
{
        struct history h;

        switched(&scenes[0], NULL, HISTORY_TRIAL, &h);
}

/* Nobody would end it: it has no result, instead of being one that a machine died in. */
static void test_nobody_watches(void **state)
{
        struct scene s = scenes[0];
        struct history h;

        s.watched = false;
        switched(&s, NULL, HISTORY_ENDED, &h);
}

static const struct scene back = {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE};

static void test_back(void **state)
{
        struct history h;

        switched(&back, NULL, -1, &h);
}

/* Moved off in the middle of its trial: that is over, and what was held against it before holds again. */
static void test_back_from_trial(void **state)
{
        struct history h;

        switched(&back, &(struct history){.state = HISTORY_TRIAL}, HISTORY_ENDED, &h);
        switched(&back, &(struct history){.state = HISTORY_TRIAL, .distrusted = true}, HISTORY_DISTRUSTED, &h);
}

static void test_known(void **state)
{
        struct history h;

        /* Passed: there is nothing to write. */
        switched(&scenes[0], &(struct history){.state = HISTORY_PASSED}, HISTORY_PASSED, &h);

        /* Distrusted, and somebody insists: on trial, and what was held against it is not forgotten. */
        switched(&scenes[0], &(struct history){.state = HISTORY_DISTRUSTED, .reason = "it had to be reset"}, HISTORY_TRIAL, &h);
        assert_true(h.distrusted);
        assert_string_equal(h.reason, "it had to be reset");
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void machine_stalls(struct fake_usb *u)
{
        u->stalls_on_uas = u->machine_late = true;
}

static void silent(struct fake_usb *u)
{
        u->silent_on_uas = true;
}

/* And so is the bystander. */
static void both_silent(struct fake_usb *u)
{
        struct fake_usb *other = &fake->usb[1];

        silent(u);
        other->luns[0].there = false;
        tree_lun_gone(other, 0);
}

/* That one is being moved as well. */
static void behind_another(struct fake_usb *u)
{
        both_silent(u);
        tree_write("STEP=appear\n", "run/uasd/switch/%s", fake->usb[1].interface);
}

/* Somebody asks for DRIVER; what is left of it is told by asked(). */
static void ask(enum driver driver)
{
        struct facts f;

        facts_of(&f);
        assert_int_equal(attachment_change(&fake->roots, &f, MARK_OVERRIDE, &(struct attachment_mark){.override_target = driver}),
                         0);
}

static enum driver asked(void)
{
        struct attachment_mark a;
        struct facts f;

        facts_of(&f);
        assert_true(attachment_read(&fake->roots, &f, &a) >= 0);
        return a.override_target;
}

static void taken_back(bool held, void (*prepare)(struct fake_usb *u), struct fake_hook hook, const char *step,
                       enum history_state on_record)
{
        struct scene s = scenes[0];
        struct history h;
        struct result r;

        s.prepare = prepare;
        s.bystander = true;
        s.held = held;
        scene_make(&s);
        ask(DRIVER_UAS);
        fake->hooks[0] = hook;
        scene_switch(&s, &r);
        assert_int_equal(asked(), on_record == HISTORY_DISTRUSTED ? DRIVER_NONE : DRIVER_UAS);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_string_equal(r.step, step);
        assert_int_equal(recorded(&h), on_record);
        assert_int_equal(fake->usb[0].driver, DRIVER_USB_STORAGE);
        scene_remove();
}

/* All are taken back; but none is to blame that owes no answer, or that there was no room to try. */
static void test_taken_back(void **state)
{
        struct fake_hook fails = {.op = "fingerprint", .nth = 2, .what = HOOK_FAIL, .error = EIO}, none = {0},
                         killed = {.op = "fingerprint", .nth = 2, .what = HOOK_KILL};

        taken_back(false, stalls, none, "verify", HISTORY_DISTRUSTED);
        taken_back(false, machine_stalls, none, "verify", HISTORY_ENDED);
        taken_back(false, NULL, fails, "verify", HISTORY_DISTRUSTED);
        fails.error = ENOMEM;
        taken_back(false, NULL, fails, "verify", HISTORY_ENDED);
        taken_back(false, NULL, killed, "verify", HISTORY_ENDED);
}

static void shrinks(struct fake_usb *u)
{
        u->shrinks_on_uas = true;
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

/* Written to as soon as it has appeared, and in use from then on. */
static void written(void (*prepare)(struct fake_usb *u), int code, enum history_state on_record)
{
        struct scene s = scenes[0];
        struct history h;
        struct result r;

        s.prepare = prepare;
        s.hooks[0] = (struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_WRITE};
        s.hooks[1] = (struct fake_hook){.op = "fingerprint", .nth = 2, .what = HOOK_MOUNT};
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, code);
        assert_int_equal(fake->usb[0].driver, DRIVER_UAS); /* nobody's mount is pulled */
        assert_true(fake->broken[0] == '\0');
        assert_int_equal(recorded(&h), on_record);
        scene_remove();
}

/* Contents that differ may have been written; a size cannot. */
static void test_written(void **state)
{
        struct fake_hook writes = {.op = "fingerprint", .nth = 2, .what = HOOK_WRITE};

        taken_back(false, shrinks, writes, "verify", HISTORY_DISTRUSTED);
        written(shrinks, UASD_EXIT_FAILED, HISTORY_DISTRUSTED);
        written(garbles, UASD_EXIT_OK, HISTORY_TRIAL);
}

/* Nor one that the kernel was not at yet, or that nothing was left of the hold to wait for. */
static void test_late(void **state)
{
        struct fake_hook none = {0}, slow = {.op = "fingerprint", .nth = 1, .what = HOOK_WAIT, .error = 14};

        taken_back(false, silent, none, "appear", HISTORY_DISTRUSTED);
        taken_back(false, both_silent, none, "appear", HISTORY_DISTRUSTED);
        taken_back(false, behind_another, none, "appear", HISTORY_ENDED);
        taken_back(true, silent, none, "appear", HISTORY_DISTRUSTED);
        taken_back(true, silent, slow, "appear", HISTORY_ENDED);
}

static void speaks_uas_alone(struct fake_usb *u)
{
        u->bot = false;
        tree_plug(u);
}

static void speaks_uas_alone_and_stalls(struct fake_usb *u)
{
        speaks_uas_alone(u);
        stalls(u);
}

/* There is nothing to try, and nowhere to be distrusted to: nothing on record may keep it off uas, at this boot or another. */
static void test_uas_alone(void **state)
{
        struct scene s = {.from = DRIVER_NONE, .to = DRIVER_UAS, .watched = true, .prepare = speaks_uas_alone};
        struct history h;
        struct result r;

        switched(&s, NULL, -1, &h);
        s.prepare = speaks_uas_alone_and_stalls;
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_not_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(recorded(&h), -1);
        scene_remove();
}

/* The scene is made: its switch is put off for want of a trial, and the disk is as it was. */
static void put_off(const struct scene *s)
{
        struct result r;

        scene_switch(s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "trial");
        assert_int_equal(fake->usb[0].driver, DRIVER_USB_STORAGE);
        assert_false(fake->usb[0].touched);
        scene_remove();
}

static void test_no_record_no_trial(void **state)
{
        struct scene s = scenes[0];

        s.hooks[0] = (struct fake_hook){.op = "write history", .nth = 1, .what = HOOK_FAIL, .error = EROFS};
        s.hooks[1] = (struct fake_hook){.op = "write history", .nth = 2, .what = HOOK_FAIL, .error = EROFS};
        scene_make(&s);
        put_off(&s);
}

/* An initramfs forgets what it writes. */
static void test_initramfs(void **state)
{
        int fd;

        scene_make(&scenes[0]);
        fd = openat(fake->roots.etc, "initrd-release", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        close(fd);
        put_off(&scenes[0]);
}

static bool in_order(const struct clean *c, unsigned n, const char *what)
{
        struct history h = {0};
        int record = recorded(&h);
        enum driver driver = fake->usb[0].driver;
        bool good = driver == DRIVER_UAS ? record == HISTORY_TRIAL : record != HISTORY_TRIAL;

        if (!good)
                print_error("%s at %u, %s: on %s, record %i\n", what, n, c->ops[n - 1], driver_to_string(driver), record);
        return good;
}

static void test_errors(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n && !sweep_again(&c, n); n++) {
                        struct scene s = scenes[i];
                        struct result r;

                        s.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_FAIL, .error = EIO};
                        scene_make(&s);
                        scene_switch(&s, &r);
                        all = in_order(&c, n, "EIO") && all;
                        scene_remove();
                }
        }
        assert_true(all);
}

/* Dead at any operation: no disk is on uas, or between drivers, without a record; put in order, none is on trial elsewhere. */
static void test_killed(void **state)
{
        bool all = true;
        struct clean c;

        sweep_clean(&scenes[0], &c);
        for (unsigned n = 1; n <= c.n && !sweep_again(&c, n); n++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                s.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_KILL_DONE};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                if (fake->usb[0].driver != DRIVER_USB_STORAGE && recorded(&h) != HISTORY_TRIAL) {
                        print_error("killed at %u, %s: on %s without a record\n", n, c.ops[n - 1],
                                    driver_to_string(fake->usb[0].driver));
                        all = false;
                }
                assert_int_equal(scene_recover(&s), 0);
                if (r.code < 0) /* else the hook was never met */
                        all = in_order(&c, n, "killed and put in order") && all;
                scene_remove();
        }
        assert_true(all);
}

/* A device with another serial at each plug: what is held against others stays, what is forgotten is the oldest of the rest. */
static void test_pushed_out(void **state)
{
        static const struct history other = {.state = HISTORY_ENDED},
                                    broken = {.state = HISTORY_DISTRUSTED, .reason = "it had to be reset"};
        struct history h;
        struct facts f;

        scene_make(&scenes[0]);
        facts_of(&f);
        assert_int_equal(history_write(&fake->roots, &f, &(struct history){.state = HISTORY_TRIAL}), 0);
        (void) copy_string(f.serial, sizeof(f.serial), "BROKEN");
        assert_int_equal(history_write(&fake->roots, &f, &broken), 0);
        for (unsigned i = 0; i < 300; i++) {
                (void) snprintf(f.serial, sizeof(f.serial), "OTHER-%u", i);
                assert_int_equal(history_write(&fake->roots, &f, &other), 0);
        }
        assert_int_equal(recorded(&h), HISTORY_TRIAL);
        for (unsigned i = 0; i < 300; i++) { /* two of 256 are taken */
                (void) snprintf(f.serial, sizeof(f.serial), "OTHER-%u", i);
                assert_int_equal(history_read(&fake->roots, &f, &h), i >= 300 - 254);
        }
        (void) copy_string(f.serial, sizeof(f.serial), "BROKEN");
        assert_int_equal(history_read(&fake->roots, &f, &h), 1);
        assert_int_equal(h.state, HISTORY_DISTRUSTED);
        for (unsigned i = 0; i < 256; i++) { /* where all matter, the oldest go after all */
                (void) snprintf(f.serial, sizeof(f.serial), "BROKEN-%u", i);
                assert_int_equal(history_write(&fake->roots, &f, &broken), 0);
        }
        assert_int_equal(history_read(&fake->roots, &f, &h), 1);
        (void) copy_string(f.serial, sizeof(f.serial), "BROKEN");
        assert_int_equal(history_read(&fake->roots, &f, &h), 0);
        scene_remove();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first_switch), cmocka_unit_test(test_nobody_watches),
                cmocka_unit_test(test_back),         cmocka_unit_test(test_back_from_trial),
                cmocka_unit_test(test_known),        cmocka_unit_test(test_taken_back),
                cmocka_unit_test(test_written),      cmocka_unit_test(test_late),
                cmocka_unit_test(test_uas_alone),    cmocka_unit_test(test_no_record_no_trial),
                cmocka_unit_test(test_initramfs),    cmocka_unit_test(test_errors),
                cmocka_unit_test(test_killed),       cmocka_unit_test(test_pushed_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
