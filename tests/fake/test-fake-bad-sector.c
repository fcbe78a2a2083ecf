/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include "sys/state/history.h"

/* A bad place of the disk fails under both drivers. uasd blames uas only for what usb-storage reads
 * well. */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .counts = true,
         .watched = true},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .partitions = 1,
         .automatic = true,
         .held = true,
         .watched = true},
};

static void bad(struct fake_usb *u)
{
        u->bad_place = EREMOTEIO;
}

static void bad_media(struct fake_usb *u)
{
        u->bad_place = EIO;
}

static void retries(struct fake_usb *u)
{
        u->bad_place = ETIMEDOUT;
}

static void two_bad(struct fake_usb *u)
{
        u->bad_place = EREMOTEIO;
        u->two_bad_places = true;
}

static void bad_sample(struct fake_usb *u)
{
        u->bad_sample = true;
}

static void broken(struct fake_usb *u)
{
        u->broken_by_uas = u->stalls_on_uas = true;
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

#define UNKNOWN                                                                                    \
        "under uas reads at full depth are not answered in time: Connection timed out; whether usb-storage reads it is not known"

static void test_verdict(void **state)
{
        static const struct {
                void (*prepare)(struct fake_usb *u);
                struct fake_hook hook;
                int code, on_record;
                const char *text;
        } rows[] = {
                {bad,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 "sda cannot be read at sector 52424, under both drivers"},
                {bad_media,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 "sda cannot be read at sector 52424, under both drivers"},
                {two_bad,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 "sda cannot be read at 2 places, the first at sector 52424, under both drivers"},
                {retries,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 "sda does not answer reads at sector 52424 in time, under both drivers"},
                {bad_sample,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 "sda cannot be read at sector 52424, under both drivers"},
                /* usb-storage reads it */
                {stalls,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_DISTRUSTED,
                 "under uas reads at full depth are not answered in time: Connection timed out"},
                {NULL,
                 {.op = "trial", .what = HOOK_FAIL, .error = EIO},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_DISTRUSTED,
                 "under uas reads at full depth fail: Input/output error"},
                /* uas has left it unreadable as a whole */
                {broken,
                 {},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_DISTRUSTED,
                 "under uas reads at full depth are not answered in time: Connection timed out"},
                /* an error of this machine */
                {stalls,
                 {.op = "reread", .what = HOOK_FAIL, .error = ENOMEM},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 UNKNOWN},
                {stalls,
                 {.op = "control", .what = HOOK_FAIL, .error = EMFILE},
                 UASD_EXIT_ROLLED_BACK,
                 HISTORY_ENDED,
                 UNKNOWN},
                /* unplugged, which the hub reports at once or later */
                {stalls,
                 {.op = "reread", .what = HOOK_UNPLUG},
                 UASD_EXIT_NO_DISK,
                 -ENODEV,
                 "the disk was unplugged"},
                {stalls,
                 {.op = "control", .what = HOOK_PULL, .error = 3},
                 UASD_EXIT_NO_DISK,
                 -ENODEV,
                 "the disk was unplugged"},
                {bad,
                 {.op = "reread", .what = HOOK_PULL, .error = 3},
                 UASD_EXIT_NO_DISK,
                 -ENODEV,
                 "the disk was unplugged"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows) * ELEMENTSOF(scenes); i++) {
                size_t n = i / ELEMENTSOF(scenes);
                struct scene s = scenes[i % ELEMENTSOF(scenes)];
                const char *wrong;
                struct result r;
                int found;

                s.prepare = rows[n].prepare;
                s.hooks[0] = rows[n].hook;
                scene_make(&s);
                scene_switch(&s, &r);
                found = scene_recorded(NULL);
                wrong = scene_wrong(&s);
                if (r.code != rows[n].code || !streq(r.text, rows[n].text) ||
                    found != rows[n].on_record || wrong)
                        fail_msg("row %zu, scene %zu: code %i, record %i, %s; %s", n,
                                 i % ELEMENTSOF(scenes), r.code, found, r.text, wrong ?: "-");
                scene_remove();
        }
}

/* It cannot be read under either driver, and was not read before: inside delay_use it had no disk.
 */
static void test_never_read(void **state)
{
        const struct scene s = {.from = DRIVER_USB_STORAGE,
                                .to = DRIVER_UAS,
                                .plugged = true,
                                .unscanned = true,
                                .watched = true,
                                .prepare = broken};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_string_equal(r.text, "sda cannot be read, under both drivers");
        assert_int_equal(scene_recorded(NULL), HISTORY_ENDED);
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* A disk that answers on usb-storage was not unplugged: nothing is waited for. */
static void test_alive(void **state)
{
        struct scene s = scenes[0];
        uint64_t began;
        struct result r;

        s.prepare = bad;
        scene_make(&s);
        began = fake->clock;
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_true(fake->clock < began + 4 * USEC_PER_SEC);
        scene_remove();
}

/*
 * A user wanted uas despite a record. The disk has a bad place and is pulled out, which the hub
 * reports later: the trial has no result, so the record before it applies again.
 */
static void test_pulled(void **state)
{
        static const struct history before = {
                .state = HISTORY_DISTRUSTED, .failed = true, .reason = "it has failed"};
        struct scene s = scenes[0];
        struct usb_disk d = {0};
        struct history h;
        struct result r;

        s.prepare = bad;
        s.hooks[0] = (struct fake_hook){.op = "reread", .what = HOOK_PULL, .error = 3};
        scene_make(&s);
        assert_int_equal(usb_disk_read(&fake->roots, "2-1:1.0", true, &d), 1);
        assert_int_equal(history_write(&fake->roots, &d.facts, &before), 0);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_NO_DISK);
        assert_true(history_read(&fake->roots, &d.facts, &h) > 0);
        assert_int_equal(h.state, HISTORY_DISTRUSTED);
        assert_string_equal(h.reason, before.reason);
        usb_disk_done(&d);
        scene_remove();
}

/* The mounts wait no longer than the hold, which has a third of its time for the way back. */
static void test_held(void **state)
{
        struct scene s = scenes[1];
        struct result r;

        s.prepare = retries;
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_null(scene_held());
        scene_remove();
}

/*
 * Killed anywhere: after the recovery a disk with a bad place is not distrusted. A disk that failed
 * only under uas is distrusted if its failure was on record.
 */
static void test_killed(void **state)
{
        static void (*const prepare[])(struct fake_usb * u) = {bad, bad_sample};
        bool all = true, compared = false;

        for (size_t i = 0; i < ELEMENTSOF(prepare); i++) {
                struct scene s = scenes[0];
                struct clean c;

                s.prepare = prepare[i];
                sweep_clean(&s, &c);
                for (unsigned n = 1; n <= c.n; n++) {
                        struct result r;
                        int found;

                        if (sweep_again(&c, n))
                                continue;
                        compared = compared || strncmp(c.ops[n - 1], "reread", 6) == 0;
                        s.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_KILL_DONE};
                        scene_make(&s);
                        scene_switch_in_child(&s, &r);
                        memset(fake->hooks, 0, sizeof(fake->hooks));
                        assert_int_equal(scene_recover(&s), 0);
                        found = scene_recorded(NULL);
                        if (found == HISTORY_DISTRUSTED ||
                            (found == HISTORY_TRIAL && fake->usb[0].driver != DRIVER_UAS)) {
                                print_error("%zu killed at %u (%s): record %i\n", i, n,
                                            c.ops[n - 1], found);
                                all = false;
                        }
                        scene_remove();
                }
        }
        assert_true(all && compared);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdict), cmocka_unit_test(test_never_read),
                cmocka_unit_test(test_alive),   cmocka_unit_test(test_pulled),
                cmocka_unit_test(test_held),    cmocka_unit_test(test_killed)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
