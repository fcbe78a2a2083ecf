/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../patience.h"
#include "sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/names.h"
#include "switch/child.h"
#include "sys/io/sysfs.h"
#include "sys/state/switch-record.h"

/* uasd-switch is killed after every operation, also during the rollback. Then the next process that
 * finds the record recovers. */

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

static void silent_on_bot(struct fake_usb *u)
{
        u->silent_on_bot = true;
        fake->haste = true;
}

/* The bind fails once. After the kill the driver takes the disk. */
static void refused(struct fake_usb *u)
{
        fake->hooks[4] =
                (struct fake_hook){.op = u->driver == DRIVER_UAS ? "bind usb-storage" : "bind uas",
                                   .nth = 1,
                                   .what = HOOK_FAIL,
                                   .error = ENODEV};
}

static const struct scene scenes[] = {
        /* clang-format off */
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
        /* These have just been plugged in. */
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .vendor = true, .plugged = true, .automatic = true, .unscanned = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .plugged = true, .unscanned = true, .unloaded = true},
        /* These are rolled back. */
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .quirks = "1209:5a5a:fu", .counts = true, .prepare = stalls},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .partitions = 1, .automatic = true, .held = true, .prepare = garbles},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .partitions = 1, .prepare = refused},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .quirks = "1:2:u", .prepare = refused},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .vendor = true, .plugged = true, .unscanned = true, .prepare = stalls},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 2, .automatic = true, .prepare = silent_on_bot},
        /* clang-format on */
};

static unsigned n_failed;

static bool says(const char *path, const char *word)
{
        _cleanup_close_ int root = open(fake->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char text[4096];

        return attr_read(root, path, text, sizeof(text)) > 0 && strstr(text, word);
}

/* The record says that the disk has failed on its new driver, and the disk is still there. */
static bool has_failed(const struct scene *s)
{
        return fake->usb[0].driver == s->to && says("run/" RUN_SWITCH "/2-1:1.0", "\nFAILED=1\n");
}

static bool is_back(const struct scene *s)
{
        return fake->usb[0].driver == s->from &&
               (s->to != DRIVER_UAS || says("etc/uasd/" STATE_HISTORY, "state=distrusted"));
}

/* With `again` no process looks for the record before the next switch begins. */
static bool killed(const struct scene *s, const struct clean *c, unsigned n, enum fake_what what,
                   bool again)
{
        struct scene now = *s;
        struct result r = {0};
        bool good, failed, recorded;
        enum driver had;

        if (sweep_leaves_out())
                return true;
        now.hooks[0] = (struct fake_hook){.nth = n, .what = what};
        scene_make(&now);
        scene_switch_in_child(&now, &r);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        recorded = r.code < 0 && tree_exists("run/" RUN_SWITCH "/2-1:1.0");
        failed = r.code < 0 && has_failed(&now);
        n_failed += failed;
        had = fake->usb[0].driver;
        if (again) {
                now.held = false; /* the hold is over by then */
                scene_switch(&now, &r);
                if (r.code != UASD_EXIT_OK && !now.prepare)
                        fake_break("the next switch", "failed");
        } else if (r.code < 0 && scene_recover(&now) < 0)
                fake_break("recovery", "failed");
        else if (failed && !is_back(&now))
                fake_break("recovery", "left a disk where it had failed");
        else if (r.code < 0 && !failed && !now.prepare && had != DRIVER_NONE &&
                 fake->usb[0].driver != had)
                fake_break("recovery", "moved a disk that had not failed");
        else if (recorded && scene_held()) /* the timer would end it, but late */
                fake_break("recovery", "left a hold to its timer");
        good = sweep_verdict(&now, &r, again ? "killed, begun again" : "killed", n, c->ops[n - 1],
                             r.code < 0 || again ? NULL : sweep_code(&now, r.code));
        scene_remove();
        return good;
}

/* The last operation may be that of a child, or that of uasd-switch. */
static void at_every_operation(bool again)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++) {
                        if (sweep_again(&c, n))
                                continue;
                        all = killed(&scenes[i], &c, n, HOOK_KILL_DONE, again) && all;
                        if (c.of_child[n - 1])
                                all = killed(&scenes[i], &c, n, HOOK_ORPHAN, again) && all;
                }
        }
        assert_true(all);
}

static void test_killed(void **state)
{
        n_failed = 0;
        at_every_operation(false);
        if (!getenv("FAKE_SAMPLE"))
                assert_int_not_equal(n_failed, 0);
}

static void test_begun_again(void **state)
{
        at_every_operation(true);
}

/* The switch is killed at one operation. Its recovery is killed at operation n, or with `full`
 * finds no room for the n-th file that it writes. */
static bool killed_twice(const struct scene *s, const char *op, unsigned nth, unsigned n, bool full,
                         bool *ret_more)
{
        struct scene now = *s;
        struct result r = {0};
        char what[64];
        bool good;

        if (sweep_leaves_out())
                return true;
        now.hooks[0] = (struct fake_hook){.op = op, .nth = nth, .what = HOOK_KILL_DONE};
        scene_make(&now);
        scene_switch_in_child(&now, &r);
        assert_int_equal(r.code, -1);
        fake->n_ops = 0;
        fake->hooks[0] = full ? (struct fake_hook){.op = "write",
                                                   .nth = n,
                                                   .what = HOOK_FAIL,
                                                   .error = ENOSPC}
                              : (struct fake_hook){.nth = n, .what = HOOK_KILL_DONE};
        if (scene_recover(&now) < 0)
                fake_break("recovery", "failed");
        *ret_more = fake->hooks[0].seen > n;
        if (fake->hooks[0].seen < n) /* it has written less this time */
                memset(fake->hooks, 0, sizeof(fake->hooks));
        (void) snprintf(what, sizeof(what), "killed after %s, %s", op, full ? "no room" : "again");
        good = sweep_verdict(&now, &r, what, n, full ? "write" : fake->ops[n - 1], NULL);
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

                if (strcmp(at[i].op, "trial") == 0)
                        continue; /* the child makes this operation, and its parent continues */
                for (int full = 0; full <= 1; full++) {
                        bool more = true;

                        for (unsigned n = 1; more && n < 100; n++)
                                all = killed_twice(&s, at[i].op, at[i].nth, n, full, &more) && all;
                }
        }
        assert_true(all);
}

/* udev waits for uasd-switch. The recovery of an earlier switch must neither wait for udev nor send
 * it anything. */
static void test_in_udevs_event(void **state)
{
        static const char *const at[] = {"delete", "unbind", "bind"};
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(at); i++) {
                struct scene s = {.from = DRIVER_UAS,
                                  .to = DRIVER_USB_STORAGE,
                                  .luns = 2,
                                  .partitions = 1,
                                  .plugged = true};
                struct result r = {0};

                s.hooks[0] = (struct fake_hook){.op = at[i], .nth = 1, .what = HOOK_KILL_DONE};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, -1);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                fake->n_ops = 0;
                fake->udev_deaf = true; /* udev is still processing this event */
                s.early = true;
                scene_switch(&s, &r);
                for (unsigned n = 0; n < fake->n_ops; n++)
                        if (streq(fake->ops[n], "events") ||
                            strncmp(fake->ops[n], "uevent", 6) == 0) {
                                print_error("killed after %s: %s at %u\n", at[i], fake->ops[n],
                                            n + 1);
                                all = false;
                        }
                if (fake->usb[0].driver != s.to) {
                        print_error("killed after %s: code %i at %s: %s\n", at[i], r.code, r.step,
                                    r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* A child of uasd-switch that claims the disk. It survives here: its parent is this test. */
static pid_t child_left(void)
{
        struct transaction t = TRANSACTION_NULL;
        pid_t pid;
        int fd = -1;
        char c;

        t.roots = fake->roots;
        t.interface = "2-1:1.0";
        pid = switch_child(&t, &fd);
        if (pid == 0) {
                (void) !write(fd, "", 1);
                (void) alarm((unsigned) patience(60)); /* also if no process kills it */
                for (;;)
                        (void) pause();
        }
        assert_true(pid > 0);
        assert_int_equal(read(fd, &c, 1), 1);
        (void) close(fd);
        return pid;
}

/* While a child still holds its claim, the recovery does nothing to the disk and informs no other
 * process. */
static void test_waits_for_children(void **state)
{
        struct scene s = {
                .from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .prepare = stalls};
        static const char *const at[] = {"trial", "unbind"};

        for (size_t i = 0; i < ELEMENTSOF(at); i++) {
                struct result r = {0};

                s.hooks[0] = (struct fake_hook){
                        .op = at[i], .nth = 1, .what = i ? HOOK_KILL_DONE : HOOK_ORPHAN};
                scene_make(&s);
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, -1);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                fake->n_ops = 0;
                fake->left = child_left();
                fake->left_polls = i ? 150 : 3; /* in two seconds it looks 200 times */
                assert_int_equal(scene_recover(&s), 0);
                assert_int_equal(fake->left_polls, 0);
                assert_int_equal(fake->opened_at, 1); /* taking the lock of the record */
                assert_true(fake->n_ops > 1);
                fake->opened_at = 0;
                fake->left = 0;
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

/* A child that hangs in the kernel may never end. The disk must have a driver all the same. */
static void test_waits_no_longer(void **state)
{
        const struct scene s = {.from = DRIVER_UAS,
                                .to = DRIVER_USB_STORAGE,
                                .partitions = 1,
                                .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_KILL_DONE}}};
        struct result r = {0};
        pid_t left;

        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        fake->left = left = child_left();
        fake->left_polls = 400; /* then it ends after all */
        scene_switch(&s, &r);   /* which recovers first */
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_non_null(
                strstr(fake->warned, "2-1:1.0: a child of the switch before does not end\n"));
        fake->left_polls = 0;
        fake->left = 0;
        assert_int_equal(kill(left, SIGKILL), 0);
        assert_int_equal(waitpid(left, NULL, 0), left);
        assert_null(scene_wrong(&s));
        scene_remove();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_waits_for_children), cmocka_unit_test(test_waits_no_longer),
                cmocka_unit_test(test_in_udevs_event),     cmocka_unit_test(test_killed),
                cmocka_unit_test(test_begun_again),        cmocka_unit_test(test_killed_twice)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
