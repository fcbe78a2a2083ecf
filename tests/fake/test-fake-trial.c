/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"
#include <fcntl.h>

#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/usb/usbdisk.h"

/*
 * A disk that is on uas for the first time has a record of its trial, whatever happens to the
 * switch. A disk that is not on trial has no such record.
 */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .counts = true,
         .watched = true},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .automatic = true,
         .held = true,
         .watched = true},
};

static void facts_of(struct facts *ret)
{
        struct usb_disk d = {0};

        memset(fake->hooks, 0, sizeof(fake->hooks));
        assert_int_equal(usb_disk_read(&fake->roots, "2-1:1.0", true, &d), 1);
        *ret = d.facts;
        usb_disk_done(&d);
}

static void keep(const struct history *h)
{
        struct facts f;

        facts_of(&f);
        assert_int_equal(history_write(&fake->roots, &f, h), 0);
}

/* Runs a switch with `before` on record (NULL: nothing). It must succeed, with the state `after` on
 * record. */
static void switched(const struct scene *s, const struct history *before, int after,
                     struct history *ret)
{
        struct result r;

        scene_make(s);
        if (before)
                keep(before);
        scene_switch(s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(scene_recorded(ret), after);
        scene_remove();
}

static void test_first_switch(void **state)
{
        struct history h;

        switched(&scenes[0], NULL, HISTORY_TRIAL, &h);
}

/* Without uasd no process would end the trial. So it has no result, and does not look like one that
 * a machine died in. */
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

/* Moved off uas in the middle of its trial: the trial is over, and the earlier distrust applies
 * again. */
static void test_back_from_trial(void **state)
{
        struct history h;

        switched(&back, &(struct history){.state = HISTORY_TRIAL}, HISTORY_ENDED, &h);
        switched(&back, &(struct history){.state = HISTORY_TRIAL, .distrusted = true},
                 HISTORY_DISTRUSTED, &h);
}

static void test_known(void **state)
{
        struct history h;

        /* Passed: nothing changes. */
        switched(&scenes[0], &(struct history){.state = HISTORY_PASSED}, HISTORY_PASSED, &h);

        /* Its last trial had no result: the next one is as the first. */
        switched(&scenes[0], &(struct history){.state = HISTORY_ENDED}, HISTORY_TRIAL, &h);
        assert_false(h.distrusted);

        /* Distrusted, and the user insists: it is on trial, and the earlier distrust stays on
         * record. */
        switched(&scenes[0],
                 &(struct history){.state = HISTORY_DISTRUSTED, .reason = "it had to be reset"},
                 HISTORY_TRIAL, &h);
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

/* It owes answers, and sends one now and then. */
static void answers_slowly(struct fake_usb *u)
{
        u->stalls_on_uas = u->answers_slowly = true;
}

/* The machine had slept before the switch began. */
static void stalls_after_a_sleep(struct fake_usb *u)
{
        kernel_sleeps(3600 * USEC_PER_SEC);
        stalls(u);
}

static void udev_deaf(struct fake_usb *u)
{
        fake->udev_deaf = fake->haste = true;
}

static void silent(struct fake_usb *u)
{
        u->silent_on_uas = true;
}

/* The bystander is silent, too. */
static void both_silent(struct fake_usb *u)
{
        struct fake_usb *other = &fake->usb[1];

        silent(u);
        other->luns[0].there = false;
        tree_lun_gone(other, 0);
}

/* The bystander is being moved as well. */
static void behind_another(struct fake_usb *u)
{
        both_silent(u);
        tree_write("STEP=appear\n", "run/uasd/switch/%s", fake->usb[1].interface);
}

/* The bystander has no driver at that moment: the kernel does not scan it. */
static void behind_one_without_driver(struct fake_usb *u)
{
        behind_another(u);
        fake->usb[1].driver = DRIVER_NONE;
        tree_driver(&fake->usb[1]);
}

/* The user asks for DRIVER. asked() returns what is left of that. */
static void ask(enum driver driver)
{
        struct facts f;

        facts_of(&f);
        assert_int_equal(attachment_change(&fake->roots, &f, MARK_OVERRIDE,
                                           &(struct attachment_mark){.override_target = driver}),
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

static void taken_back(bool held, void (*prepare)(struct fake_usb *u), struct fake_hook hook,
                       const char *step, const char *said, enum history_state on_record)
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
        assert_string_equal(r.text, said);
        assert_int_equal(scene_recorded(&h), on_record);
        assert_int_equal(fake->usb[0].driver, DRIVER_USB_STORAGE);
        scene_remove();
}

/* All are rolled back. A bridge that owes no answer is not blamed, nor is one that could not be
 * tried for lack of memory. */
static void test_taken_back(void **state)
{
        static const int ours[] = {ENOMEM, EMFILE, ENFILE};
        struct fake_hook fails = {.op = "fingerprint", .nth = 2, .what = HOOK_FAIL, .error = EIO},
                         none = {0}, killed = {.op = "fingerprint", .nth = 2, .what = HOOK_KILL};

        taken_back(false, stalls, none, "verify",
                   "under uas reads at full depth are not answered in time: Connection timed out",
                   HISTORY_DISTRUSTED);
        taken_back(false, machine_stalls, none, "verify",
                   "under uas this machine was too slow to tell: Connection timed out",
                   HISTORY_ENDED);
        taken_back(false, answers_slowly, none, "verify",
                   "under uas this machine was too slow to tell: Connection timed out",
                   HISTORY_ENDED);
        taken_back(false, NULL, fails, "verify",
                   "under uas the disk cannot be read: Input/output error", HISTORY_DISTRUSTED);
        for (size_t i = 0; i < ELEMENTSOF(ours); i++) {
                char text[128];

                fails.error = ours[i];
                (void) snprintf(text, sizeof(text), "under uas the disk cannot be read: %s",
                                strerror(ours[i]));
                taken_back(false, NULL, fails, "verify", text, HISTORY_ENDED);
        }
        taken_back(false, NULL, killed, "verify",
                   "under uas its examination was killed: Operation canceled", HISTORY_ENDED);
}

static void stalls_uncounted(struct fake_usb *u)
{
        u->stalls_on_uas = u->not_counted = true;
}

/* After the time-out uasd-switch counts its answers twice. If it has no memory for that, it does
 * not blame the bridge. */
static void test_answers_not_counted(void **state)
{
        static const char slow[] =
                "under uas this machine was too slow to tell: Connection timed out";
        static const char stalled[] =
                "under uas reads at full depth are not answered in time: Connection timed out";
        struct scene s = scenes[0];
        unsigned reads = 0;
        struct result r;

        taken_back(false, stalls_uncounted, (struct fake_hook){0}, "verify", stalled,
                   HISTORY_DISTRUSTED);
        s.prepare = stalls;
        s.bystander = true;
        scene_make(&s);
        scene_switch(&s, &r);
        for (unsigned i = 0; i < fake->n_ops && !streq(fake->ops[i], "trial"); i++)
                reads += streq(fake->ops[i], "read disk");
        assert_int_not_equal(reads, 0);
        scene_remove();
        for (unsigned nth = reads + 1; nth <= reads + 2; nth++) {
                struct fake_hook fails = {
                        .op = "read disk", .nth = nth, .what = HOOK_FAIL, .error = ENOMEM};

                taken_back(false, stalls, fails, "verify", slow, HISTORY_ENDED);
                fails.error = EIO;
                taken_back(false, stalls, fails, "verify", stalled, HISTORY_DISTRUSTED);
        }
}

static void shrinks(struct fake_usb *u)
{
        u->shrinks_on_uas = true;
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

/* A process writes to the disk as soon as it has appeared, and keeps it in use. */
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
        assert_int_equal(fake->usb[0].driver, DRIVER_UAS); /* no mount is destroyed */
        assert_true(fake->broken[0] == '\0');
        assert_int_equal(scene_recorded(&h), on_record);
        scene_remove();
}

/* Different contents can come from a write. A different size cannot. */
static void test_written(void **state)
{
        struct fake_hook writes = {.op = "fingerprint", .nth = 2, .what = HOOK_WRITE};

        taken_back(
                false, shrinks, writes, "verify",
                "under uas another disk shows: before LUN0_SIZE=512, now LUN0_SIZE=511: Structure needs cleaning",
                HISTORY_DISTRUSTED);
        written(shrinks, UASD_EXIT_FAILED, HISTORY_DISTRUSTED);
        written(garbles, UASD_EXIT_OK, HISTORY_TRIAL);
}

/* The bridge is not blamed when the kernel had not reached it yet, or when the hold left no time to
 * wait for it. */
static void test_late(void **state)
{
        struct fake_hook none = {0},
                         slow = {.op = "fingerprint", .nth = 1, .what = HOOK_WAIT, .error = 14},
                         other_ends = {.op = "wait", .nth = 10, .what = HOOK_OTHER_ENDS};

        taken_back(false, silent, none, "appear", "no disk appeared under uas in time",
                   HISTORY_DISTRUSTED);
        taken_back(false, udev_deaf, none, "appear",
                   "udev was not done with the disk under uas in time", HISTORY_ENDED);
        taken_back(false, both_silent, none, "appear", "no disk appeared under uas in time",
                   HISTORY_DISTRUSTED);
        taken_back(
                false, behind_another, none, "appear",
                "no disk appeared under uas in time: the kernel was at another one, which was bound before it",
                HISTORY_ENDED);
        taken_back(false, behind_one_without_driver, none, "appear",
                   "no disk appeared under uas in time", HISTORY_DISTRUSTED);
        taken_back(false, behind_another, other_ends, "appear",
                   "no disk appeared under uas in time", HISTORY_DISTRUSTED);
        taken_back(true, silent, none, "appear", "no disk appeared under uas in time",
                   HISTORY_DISTRUSTED);
        taken_back(true, silent, slow, "appear",
                   "no disk appeared under uas in time: this machine was too slow to wait for it",
                   HISTORY_ENDED);
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

/* The bridge has no other driver, so it has no trial and no distrust. No record may keep it off
 * uas, at this boot or another. */
static void test_uas_alone(void **state)
{
        struct scene s = {.from = DRIVER_NONE,
                          .to = DRIVER_UAS,
                          .watched = true,
                          .prepare = speaks_uas_alone};
        struct history h;
        struct result r;

        switched(&s, NULL, -1, &h);
        s.prepare = speaks_uas_alone_and_stalls;
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_not_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(scene_recorded(&h), -1);
        scene_remove();
}

/* The scene is made. Its switch is deferred because no trial can be recorded, and the disk is not
 * touched. */
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

        s.hooks[0] = (struct fake_hook){
                .op = "write history", .nth = 1, .what = HOOK_FAIL, .error = EROFS};
        s.hooks[1] = (struct fake_hook){
                .op = "write history", .nth = 2, .what = HOOK_FAIL, .error = EROFS};
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
        int record = scene_recorded(&h);
        enum driver driver = fake->usb[0].driver;
        bool good = driver == DRIVER_UAS ? record == HISTORY_TRIAL : record != HISTORY_TRIAL;

        if (!good)
                print_error("%s at %u, %s: on %s, record %i\n", what, n, c->ops[n - 1],
                            driver_to_string(driver), record);
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

/* Killed at any operation: no disk is on uas, or without a driver, without a record. After recovery
 * no disk is on trial that is not on uas. */
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
                if (fake->usb[0].driver != DRIVER_USB_STORAGE &&
                    scene_recorded(&h) != HISTORY_TRIAL) {
                        print_error("killed at %u, %s: on %s without a record\n", n, c.ops[n - 1],
                                    driver_to_string(fake->usb[0].driver));
                        all = false;
                }
                assert_int_equal(scene_recover(&s), 0);
                if (r.code < 0) /* otherwise the hook was never met */
                        all = in_order(&c, n, "killed and put in order") && all;
                scene_remove();
        }
        assert_true(all);
}

/* Killed on the way back, the disk is distrusted, as it would be without the kill. Killed before it
 * could fail, it is not. */
static void test_killed_on_the_way_back(void **state)
{
        static const struct {
                const char *op;
                void (*prepare)(struct fake_usb *u);
                enum history_state on_record;
                const char *reason;
        } rows[] = {
                {"unbind uas", stalls, HISTORY_DISTRUSTED,
                 "under uas it did not pass; uasd-switch was killed on the way back"},
                {"unbind uas", stalls_after_a_sleep, HISTORY_DISTRUSTED,
                 "under uas it did not pass; uasd-switch was killed on the way back"},
                {"arm timer", stalls, HISTORY_DISTRUSTED,
                 "under uas it did not pass; uasd-switch was killed on the way back"},
                {"remove hold", stalls, HISTORY_DISTRUSTED,
                 "under uas it did not pass; uasd-switch was killed on the way back"},
                {"delete", NULL, HISTORY_ENDED, ""},
        };
        uint64_t before;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                s.prepare = rows[i].prepare;
                s.hooks[0] = (struct fake_hook){.op = rows[i].op, .nth = 1, .what = HOOK_KILL_DONE};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, -1);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                before = fake->clock;
                assert_int_equal(scene_recover(&s), 0);
                /* No row waits for the news that the disk was unplugged: its LUNs have appeared
                 * since. */
                assert_in_range(fake->clock - before, 0, 3 * USEC_PER_SEC);
                assert_int_equal(scene_recorded(&h), rows[i].on_record);
                assert_string_equal(h.reason, rows[i].reason);
                assert_int_equal(fake->usb[0].driver, DRIVER_USB_STORAGE);
                scene_remove();
        }
}

/* The device has another serial number at each plug. Distrust and trials stay on record. The oldest
 * of the other lines go. */
static void test_pushed_out(void **state)
{
        static const struct history other = {.state = HISTORY_ENDED},
                                    broken = {.state = HISTORY_DISTRUSTED,
                                              .reason = "it had to be reset"};
        struct history h;
        struct facts f;

        scene_make(&scenes[0]);
        facts_of(&f);
        assert_int_equal(history_write(&fake->roots, &f, &(struct history){.state = HISTORY_TRIAL}),
                         0);
        (void) copy_string(f.serial, sizeof(f.serial), "BROKEN");
        assert_int_equal(history_write(&fake->roots, &f, &broken), 0);
        for (unsigned i = 0; i < 300; i++) {
                (void) snprintf(f.serial, sizeof(f.serial), "OTHER-%u", i);
                assert_int_equal(history_write(&fake->roots, &f, &other), 0);
        }
        assert_int_equal(scene_recorded(&h), HISTORY_TRIAL);
        for (unsigned i = 0; i < 300; i++) { /* two of the 256 lines are used */
                (void) snprintf(f.serial, sizeof(f.serial), "OTHER-%u", i);
                assert_int_equal(history_read(&fake->roots, &f, &h), i >= 300 - 254);
        }
        (void) copy_string(f.serial, sizeof(f.serial), "BROKEN");
        assert_int_equal(history_read(&fake->roots, &f, &h), 1);
        assert_int_equal(h.state, HISTORY_DISTRUSTED);
        for (unsigned i = 0; i < 256; i++) { /* all lines matter: now the oldest go */
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
                cmocka_unit_test(test_first_switch),
                cmocka_unit_test(test_nobody_watches),
                cmocka_unit_test(test_back),
                cmocka_unit_test(test_back_from_trial),
                cmocka_unit_test(test_known),
                cmocka_unit_test(test_taken_back),
                cmocka_unit_test(test_answers_not_counted),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_late),
                cmocka_unit_test(test_uas_alone),
                cmocka_unit_test(test_no_record_no_trial),
                cmocka_unit_test(test_initramfs),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_killed),
                cmocka_unit_test(test_killed_on_the_way_back),
                cmocka_unit_test(test_pushed_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
