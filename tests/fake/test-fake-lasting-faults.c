/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include <stdlib.h>

#include "common/names.h"
#include "sys/quirks/param.h"

/* Faults that begin at some moment and stay: an operation that always fails, a lock that is never
 * released. */

static void silent_on_uas(struct fake_usb *u)
{
        u->silent_on_uas = true;
}

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .quirks = "1:2:u,1209:5a5a:fu"},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .quirks = "1:2:u"},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .partitions = 1,
         .automatic = true,
         .held = true},
        {.from = DRIVER_UAS,
         .to = DRIVER_USB_STORAGE,
         .luns = 2,
         .automatic = true,
         .counts = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .vendor = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .vendor = true, .quirks = "1209:5a5a:u"},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .prepare = silent_on_uas},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .quirks = "1209:5a5a:u",
         .prepare = silent_on_uas},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .vendor = true,
         .plugged = true,
         .unscanned = true},
};

static size_t first, last = ELEMENTSOF(scenes) - 1;

/* The next process that takes the lock knows which entry to remove. */
static bool entry_not_on_record(const struct scene *s)
{
        char entry[QUIRK_ENTRY_MAX], rest[QUIRKS_MAX + 1], was[QUIRKS_MAX + 1], now[QUIRKS_MAX + 1];

        (void) snprintf(was, sizeof(was), "%s", s->quirks ? s->quirks : "");
        (void) snprintf(now, sizeof(now), "%.*s", (int) strcspn(fake->quirks, "\n"), fake->quirks);
        if (streq(now, was))
                return false;
        return quirks_bind_read(&fake->roots, entry) <= 0 || quirks_remove(now, entry, rest) <= 0 ||
               !streq(rest, was);
}

/* While the fault lasts, the disk works, uasd-switch reports where it is, and every entry of ours
 * is on record. */
static const char *wrong_meanwhile(const struct scene *s, const struct result *r)
{
        const struct fake_usb *u = &fake->usb[0];
        bool stays = strstr(r->text, "did not go back") || strstr(r->text, "stays");

        if (u->driver != DRIVER_UAS && u->driver != DRIVER_USB_STORAGE)
                return "no driver has it, though one could";
        if (r->code == UASD_EXIT_OK && u->driver != s->to)
                return "it says that it is done, and is not";
        if (r->code != UASD_EXIT_OK && u->driver == s->to && !stays)
                return "it was moved, and does not say so";
        return entry_not_on_record(s) ? "an entry of ours is in the quirks, and on no record"
                                      : NULL;
}

/* Switches the disk back, as uasd does with a disk that has failed where it is. */
static void back_to_health(const struct scene *s)
{
        struct scene back = *s;
        struct result r;

        if (!s->prepare || fake->usb[0].driver == s->from)
                return;
        back.to = s->from;
        scene_switch(&back, &r);
        if (r.code != UASD_EXIT_OK)
                fake_break("the way off uas", "failed");
}

/* Then the fault ends. uasd cleans the quirks, and its next start completes the switch that left a
 * record. */
static bool lasting(const struct scene *s, struct fake_hook hook, const char *what, unsigned n,
                    bool *ret_reached)
{
        struct scene now = *s;
        struct result r = {0};
        const char *wrong;
        bool good;

        hook.on = hook.what == HOOK_FAIL;
        now.hooks[0] = hook;
        scene_make(&now);
        fake->haste = true;
        scene_switch(&now, &r);
        wrong = wrong_meanwhile(&now, &r);
        if (!wrong && tree_exists("run/" RUN_SWITCH "/2-1:1.0") &&
            !(hook.op && streq(hook.op, "remove record")))
                wrong = "it has ended, and its record is still there";
        *ret_reached = fake->hooks[0].seen >= n;
        memset(fake->hooks, 0, sizeof(fake->hooks));
        fake_someone_unlocks();
        (void) close_keep_errno(quirks_lock(&fake->roots, 0));
        if (tree_exists("run/" RUN_SWITCH "/2-1:1.0") && scene_recover(&now) < 0)
                fake_break("recovery", "failed");
        back_to_health(&now);
        good = sweep_verdict(&now, &r, what, n, hook.op ? hook.op : "-", wrong);
        scene_remove();
        return good;
}

static bool first_of_its_name(const struct clean *c, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (streq(c->ops[i], c->ops[n]))
                        return false;
        return true;
}

/* The operations of the rollback count, too. */
static bool fails_from(const struct scene *s, const char *op)
{
        bool all = true, reached = true;

        for (unsigned n = 1; reached; n++)
                all = lasting(s,
                              (struct fake_hook){
                                      .op = op, .nth = n, .what = HOOK_FAIL, .error = EIO},
                              "fails from", n, &reached) &&
                      all;
        return all;
}

static void test_fails_from_then_on(void **state)
{
        /* The operations on which the driver of a disk depends. "bind" is that of either driver,
         * "write" that of every record. */
        static const char *const always[] = {"bind",  "unbind",      "read quirks", "quirks",
                                             "write", "lock quirks", "read disk"};
        bool all = true;

        for (size_t i = first; i <= last; i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (size_t k = 0; k < ELEMENTSOF(always); k++)
                        all = fails_from(&scenes[i], always[k]) && all;
                for (unsigned n = 0; n < c.n && i < 2; n++)
                        if (first_of_its_name(&c, n) && !streq(c.ops[n], "wait"))
                                all = fails_from(&scenes[i], c.ops[n]) && all;
        }
        assert_true(all);
}

/* For example by a second uasd-switch that hangs in its bind. */
static void test_lock_held(void **state)
{
        bool all = true;

        for (size_t i = first; i <= last; i++) {
                struct clean c;
                bool reached;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++) {
                        struct fake_hook hook = {.nth = n, .what = HOOK_LOCK};
                        const char *op = c.ops[n - 1];

                        /* Only where it can matter: the lock is taken after the disk has been
                         * examined, or during the move. */
                        if (strstr(op, "quirks") || strstr(op, "bind") ||
                            strncmp(op, "delete", 6) == 0 || streq(op, "write record"))
                                all = lasting(&scenes[i], hook, "lock kept from", n, &reached) &&
                                      all;
                }
        }
        assert_true(all);
}

/* No switch begins then: a disk on any driver can wait. */
static void test_lock_held_before(void **state)
{
        for (size_t i = 0; i < 6; i++) {
                struct scene s = scenes[i];
                struct result r;

                s.hooks[0] = (struct fake_hook){.nth = 1, .what = HOOK_LOCK};
                scene_make(&s);
                scene_switch(&s, &r);
                assert_int_equal(r.code, UASD_EXIT_DEFERRED);
                assert_string_equal(r.step, "prepare");
                assert_int_equal(fake->usb[0].touched, 0);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

/* The result names the first failure. The log names what fails on the way back, too. */
static void test_logged(void **state)
{
        static const struct {
                const char *op;
                unsigned nth;
                const char *warned;
        } table[] = {
                {"unbind uas", 1, "2-1:1.0: cannot unbind uas: Input/output error\n"},
                {"bind usb-storage", 1, "2-1:1.0: not back on usb-storage: Input/output error\n"},
                {"write history", 3,
                 "2-1:1.0: the end of its trial cannot be put on record: Input/output error\n"},
                {"quirks parameters", 2,
                 "2-1:1.0: our entry for the bind is still in the quirks parameter: "
                 "Input/output error\n"},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct scene s = scenes[6];
                struct result r;

                s.hooks[0] = (struct fake_hook){.op = table[i].op,
                                                .nth = table[i].nth,
                                                .on = true,
                                                .what = HOOK_FAIL,
                                                .error = EIO};
                scene_make(&s);
                scene_switch(&s, &r);
                if (!strstr(fake->warned, table[i].warned))
                        fail_msg("%s: %s", table[i].op, fake->warned);
                scene_remove();
        }
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fails_from_then_on), cmocka_unit_test(test_lock_held),
                cmocka_unit_test(test_logged), cmocka_unit_test(test_lock_held_before)};

        if (argc > 1) /* only that scene */
                first = last = strtoul(argv[1], NULL, 10);
        assert_in_range(last, 0, ELEMENTSOF(scenes) - 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
