/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "common/names.h"
#include "play.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "wraps.h"

/* The course of a switch, and its time. The conditions of scene_wrong() hold also if a switch does
 * less, or is late. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

static unsigned count(const char *op, unsigned from)
{
        unsigned n = 0;

        for (unsigned i = from; i < fake->n_ops; i++)
                n += strncmp(fake->ops[i], op, strlen(op)) == 0;
        return n;
}

/* The number of its first operation with that name, from 1 on; 0: none. */
static unsigned first(const char *op)
{
        for (unsigned i = 0; i < fake->n_ops; i++)
                if (strncmp(fake->ops[i], op, strlen(op)) == 0)
                        return i + 1;
        return 0;
}

static void print_ops(const char *what, const struct result *r)
{
        print_error("%s: on %s, code %i at %s: %s\n", what, driver_to_string(fake->usb[0].driver),
                    r->code, r->step, r->text);
        scene_print_ops();
}

/* ---- time ---- */

static void silent_on_uas(struct fake_usb *u)
{
        u->silent_on_uas = true;
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void reader_stays(struct fake_usb *u)
{
        stalls(u);
        fake->reader_stays = true;
}

/* usb-storage shows no disk for an hour. */
static void endless_delay_use(struct fake_usb *u)
{
        fake->haste = true;
        fake->delay_use = 3600 * USEC_PER_SEC;
        tree_write("3600\n", "sys/module/usb_storage/parameters/delay_use");
}

/* The clock is that of the fake kernel: a switch that waits for nothing takes none of the real
 * time. */
static void test_time(void **state)
{
        static const struct {
                const char *what;
                struct scene s;
                int code;
                unsigned msec; /* at most */
                bool unbound;
        } table[] = {
                /* clang-format off */
                {"to uas", {BOT, UAS, .partitions = 1}, 0, 300, true},
                {"to usb-storage", {UAS, BOT, .partitions = 1}, 0, 1300, true},
                /* The disk has no driver, so the lock is waited for once. */
                {"the lock of the quirks is kept", {UAS, BOT, .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_LOCK}}}, 7, 15500, true},
                /* A boot or a user waits: the way back is over when the hold is. */
                {"silent, plugged in", {BOT, UAS, .partitions = 1, .plugged = true, .prepare = silent_on_uas}, 7, 17500, true},
                {"silent, held", {BOT, UAS, .partitions = 1, .held = true, .prepare = silent_on_uas}, 7, 17500, true},
                {"silent, in a short hold", {BOT, UAS, .partitions = 1, .plugged = true, .hold_sec = 6, .prepare = silent_on_uas}, 7, 6000, true},
                {"silent", {BOT, UAS, .partitions = 1, .prepare = silent_on_uas}, 7, 32500, true},
                {"delay_use is an hour", {UAS, BOT, .partitions = 1, .prepare = endless_delay_use}, 7, 160000, true},
                {"stalls", {BOT, UAS, .partitions = 1, .prepare = stalls}, 7, 3200, true},
                {"a reader hangs on it after the unbind", {BOT, UAS, .partitions = 1, .prepare = reader_stays}, 7, 4200, true},
                /* The LUN that is still there is announced by no event. */
                {"a LUN cannot be deleted",
                 {UAS, BOT, .luns = 2, .partitions = 1, .hooks = {{.op = "delete 0:0:0:1", .nth = 1, .what = HOOK_FAIL, .error = EIO}}},
                 7, 800, false},
                {"uas is unloaded before the bind", {BOT, UAS, .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_UNLOAD}}}, 7, 2500, true},
                {"unplugged before the unbind", {UAS, BOT, .hooks = {{.op = "delete", .nth = 1, .what = HOOK_UNPLUG}}}, 4, 500, false},
                {"no answer from udev about PID 1", {UAS, BOT, .plugged = true, .hooks = {{.op = "arm timer", .nth = 1, .what = HOOK_FAIL, .error = ENOENT}}}, 0, 1300, true},
                /* clang-format on */
        };
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct result r;
                uint64_t began, usec;

                scene_make(&table[i].s);
                began = fake->clock;
                scene_switch(&table[i].s, &r);
                usec = fake->clock - began;
                if (r.code != table[i].code || usec > table[i].msec * USEC_PER_MSEC ||
                    (fake->usb[0].unbound > 0) != table[i].unbound) {
                        print_ops(table[i].what, &r);
                        print_error("%llu ms\n", (unsigned long long) (usec / USEC_PER_MSEC));
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* The opens of both LUNs hang on the way back. The first is waited for 2 s, the second 0.1 s, and
 * neither is asked again. */
static void test_opens_hang(void **state)
{
        struct scene s = {BOT, UAS, .luns = 2, .partitions = 1, .prepare = stalls};
        unsigned last[2] = {0, 0};
        uint64_t usec[2];
        struct result r;

        for (unsigned hangs = 0; hangs < 2; hangs++) {
                uint64_t began;

                for (unsigned l = 0; hangs && l < 2; l++)
                        s.hooks[l] = (struct fake_hook){.op = l ? "open sdb" : "open sda",
                                                        .nth = last[l],
                                                        .what = HOOK_HANG};
                scene_make(&s);
                began = fake->clock;
                scene_switch(&s, &r);
                usec[hangs] = fake->clock - began;
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_null(scene_wrong(&s));
                last[0] = count("open sda", 0) - 1; /* after it the partition is opened */
                last[1] = count("open sdb", 0) - 1;
                scene_remove();
        }
        /* Each look at the clock takes 1 usec. */
        assert_in_range(usec[1] - usec[0], 2100 * USEC_PER_MSEC - 10, 2100 * USEC_PER_MSEC + 10);

        /* A disk that stays bound keeps the child that hangs: it is not waited for. */
        s.hooks[1] = (struct fake_hook){.op = "unbind uas", .what = HOOK_FAIL, .error = EIO};
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_FAILED);
        assert_null(scene_wrong(&s));
        scene_remove();
}

static void stalls_without_sockets(struct fake_usb *u)
{
        stalls(u);
        fake->no_sockets = ~1U; /* the first is for verify */
}

/* Without a claim the disk stays where it is. */
static void test_no_claim_on_the_way_back(void **state)
{
        const struct scene s = {BOT, UAS, .partitions = 1, .prepare = stalls_without_sockets};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_FAILED);
        assert_non_null(strstr(r.text, "; whether it is in use cannot be found out, so it stays"));
        assert_int_equal(count("bind usb-storage", 0), 0);
        assert_int_equal(fake->usb[0].driver, UAS);
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* The disk cannot be read when the way back begins. It is read again. */
static void test_unreadable_on_the_way_back(void **state)
{
        struct scene s = {BOT, UAS, .partitions = 1, .prepare = stalls};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        s.hooks[0] = (struct fake_hook){.op = "read disk", .what = HOOK_FAIL, .error = EIO};
        s.hooks[0].nth = count("read disk", 0) - count("read disk", first("unbind uas"));
        scene_remove();
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* ---- users ---- */

/* The driver is built into the kernel and counts no opens. The search by name finds who came at the
 * last moment. */
static void test_last_moment(void **state)
{
        static const enum fake_what whats[] = {HOOK_OPEN_SG, HOOK_OPEN, HOOK_GLANCE};
        static const struct scene s = {UAS, BOT, .partitions = 1};
        struct result r;
        unsigned last;

        scene_make(&s);
        scene_switch(&s, &r);
        last = count("open sda", 0) - count("open sda", first("delete"));
        scene_remove();
        for (size_t i = 0; i < ELEMENTSOF(whats); i++) {
                struct scene now = s;

                now.hooks[0] = (struct fake_hook){.op = "open sda", .nth = last, .what = whats[i]};
                scene_make(&now);
                scene_switch(&now, &r);
                if (whats[i] == HOOK_GLANCE) /* it has gone again: a second search finds no user */
                        assert_int_equal(r.code, UASD_EXIT_OK);
                else if (r.code != UASD_EXIT_DEFERRED || fake->usb[0].touched) {
                        print_ops("opened in the last moment", &r);
                        fail();
                }
                scene_remove();
        }
}

static int unnamed = -1;

static void opened_by_nobody(struct fake_usb *u)
{
        unnamed = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        assert_true(unnamed >= 0);
}

/*
 * On Linux 6.1 all opens of a partition count as one. So the count shows a process that has one
 * open only while the switch itself has none open: then no sync follows, and no claim.
 */
static void test_unnamed(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1, .counts = true,
                                       .prepare = opened_by_nobody};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "claim");
        assert_int_equal(fake->usb[0].touched, 0);
        (void) close(unnamed);
        scene_remove();
}

/* A process wrote to the disk after the fingerprint: the disk is synced, and the fingerprint is
 * taken again. */
static void test_written_since(void **state)
{
        static const struct scene s = {
                UAS, BOT, .partitions = 1,
                .hooks = {{.op = "fingerprint", .nth = 1, .what = HOOK_WRITE}}};
        unsigned fingerprints = 0, syncs = 0, at = 0;
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        for (unsigned i = 0; i < first("delete"); i++) {
                fingerprints += streq(fake->ops[i], "fingerprint");
                syncs += at > 0 && strncmp(fake->ops[i], "sync sda", 8) == 0;
                at = !at && fingerprints ? i : at;
        }
        assert_int_equal(fingerprints, 2);
        assert_int_not_equal(syncs, 0);
        scene_remove();
}

/* Writes to the disk count. A flush of the drive's cache does not. */
static void test_written(void **state)
{
        struct claimed node = {.name = "sda", .whole = true};
        struct claim c = {.nodes = &node, .n = 1, .inotify = -1};
        uint64_t before;

        fakesys_make();
        (void) fakesys_add_usb_disk("2-1", DRIVER_UAS, 1, 1);
        tree_write("9 1 99 5 3 2 64 7 0 8 9 0 0 0 0 4 1\n", "sys/class/block/sda/stat");
        before = claim_written(&fake->roots, &c);
        tree_write("12 1 105 6 4 2 64 7 0 8 9 0 0 0 0 5 1\n",
                   "sys/class/block/sda/stat"); /* a read and a flush */
        assert_int_equal(claim_written(&fake->roots, &c), before);
        tree_write("12 1 105 6 5 2 72 7 0 8 9 0 0 0 0 5 1\n", "sys/class/block/sda/stat");
        assert_int_not_equal(claim_written(&fake->roots, &c), before);
        tree_write("12 1 105 6 4 2 64 7 0 8 9 1 0 2048 3 5 1\n", "sys/class/block/sda/stat");
        assert_int_not_equal(claim_written(&fake->roots, &c), before);
        tree_write("12 1 105 6 4 2 72 7 0 8 9\n",
                   "sys/class/block/sda/stat"); /* the format of Linux 4.17 and older */
        assert_int_not_equal(claim_written(&fake->roots, &c), before);
        fakesys_remove();
}

/* The first failure is the one that is reported. A later one is a failure all the same. */
static void test_first_failure(void **state)
{
        struct transaction t = {0};

        assert_int_equal(tx_fail(&t, UASD_EXIT_DEFERRED, -EBUSY, "in use by %i", 1), -EBUSY);
        assert_int_equal(tx_fail(&t, UASD_EXIT_FAILED, -EIO, "lost"), -EIO);
        assert_int_equal(t.result.code, UASD_EXIT_DEFERRED);
        assert_string_equal(t.result.text, "in use by 1");
}

/* A user of the disk cannot forge the end of a switch, neither with a process name nor with a mount
 * point. */
static void test_end_is_a_line(void **state)
{
        struct scene s = {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1};
        struct transaction t = {.result = {.code = UASD_EXIT_FAILED, .step = "fingerprint"}};
        char line[END_LINE_MAX];
        struct result r;

        s.hooks[0] = (struct fake_hook){.op = "lock", .nth = 1, .what = HOOK_OPEN};
        assert_true(scene_play(&s, "opened", &r));
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_non_null(strstr(r.text, "x\nEND 0"));
        t.result.code = r.code;
        memcpy(t.result.text, r.text, sizeof(t.result.text));
        end_line(&t, line);
        assert_string_equal(line, "END 3 fingerprint in use: open of sda by x\\x0aEND 0 a b\n");

        memset(t.result.text, '\n', sizeof(t.result.text) - 1);
        end_line(&t, line);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

/* On a terminal: the name of the process that has it open, with its PID if there is one. */
static void test_user_is_named(void **state)
{
        static const struct {
                struct user user;
                const char *line;
        } table[] = {
                {{.kind = USER_OPEN, .device = "sda", .command = "dd\n", .pid = 42},
                 "open sda by dd\\x0a (pid 42)\n"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = "/mnt"}, "mount sda1 at /mnt\n"},
        };
        const struct transaction t = {.request.machine = false};

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                FILE *before = stderr;
                char *text = NULL;
                size_t n;

                stderr = open_memstream(&text, &n);
                assert_non_null(stderr);
                __real_report_user(&t, &table[i].user);
                (void) fclose(stderr);
                stderr = before;
                assert_string_equal(text, table[i].line);
                free(text);
        }
}

/* ---- holds ---- */

/* Fails as soon as it has appeared: until it is back the disk is held, so that its name is free and
 * no process mounts it. */
static void test_held_on_the_way_back(void **state)
{
        static const struct scene scenes[] = {
                {BOT, UAS, .partitions = 1, .prepare = stalls},
                {BOT, UAS, .partitions = 1, .plugged = true, .prepare = stalls},
        };

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct result r;
                unsigned hold, back;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                hold = first("write hold");
                back = first("unbind uas");
                if (hold == 0 || hold > back || count("remove hold", back) == 0 ||
                    count("uevent sda", back) == 0 || fake->usb[0].luns[0].letter != 0) {
                        print_ops("rolled back", &r);
                        fail();
                }
                scene_remove();
        }
}

static void stalls_before_a_slow_udev(struct fake_usb *u)
{
        stalls(u);
        fake->udev_usec = 3050 * USEC_PER_MSEC;
}

static void stalls_on_an_old_kernel(struct fake_usb *u)
{
        stalls_before_a_slow_udev(u);
        fake->no_diskseq = true;
        tree_remove("sys/block/sda/diskseq");
}

/* udev finishes its work on the failed disk only when it is gone. Its name returns, but that event
 * is not of the disk that is back. */
static void test_slow_udev(void **state)
{
        static const struct scene scenes[] = {
                {BOT, UAS, .partitions = 1, .prepare = stalls_before_a_slow_udev},
                {BOT, UAS, .partitions = 1, .prepare = stalls_on_an_old_kernel},
        };

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct result r;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(fake->usb[0].luns[0].letter, 0);
                assert_true(udev_has_finished(&fake->usb[0].luns[0]));
                assert_null(scene_held());
                scene_remove();
        }
}

/* A switch that is done in time holds nothing: udev's helper has waited for it. */
static void test_not_held(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1};
        struct result r;

        while (waitpid(-1, NULL, 0) >
               0) /* of a switch whose disk did not answer: it could not wait for them */
                ;
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* its child has ended */
        assert_int_equal(count("write hold", 0), 0);
        assert_int_equal(count("uevent", 0), 0);
        assert_int_equal(fake->timers, 0);
        scene_remove();
}

/* The child of step verify needs long for its exit: the disk is handed over first. */
static void test_handed_over_first(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(count("remove record", fake->waited_at), 0);
        assert_int_equal(count("remove record", 0), 1);
        scene_remove();
}

static void was_released(struct fake_usb *u)
{
        struct facts f;

        fake_facts(u, &f);
        assert_int_equal(attachment_change(&fake->roots, &f, MARK_RELEASED,
                                           &(struct attachment_mark){.released = true}),
                         0);
}

/* An earlier hold of this attachment has ended. That does not end the hold of the switch. */
static void test_held_again(void **state)
{
        static const struct scene s = {BOT,
                                       UAS,
                                       .partitions = 1,
                                       .plugged = true,
                                       .prepare = was_released,
                                       .hooks = {{.op = "bind uas", .nth = 1, .what = HOOK_KILL}}};
        struct result r;

        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        assert_true(rule_holds(&fake->usb[0]));
        memset(fake->hooks, 0, sizeof(fake->hooks));
        assert_int_equal(scene_recover(&s), 0);
        assert_null(scene_held());
        scene_remove();
}

/* Killed in a hold of its own. No timer has ended the hold at its end: the recovery ends it. */
static void test_held_too_long(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1, .plugged = true,
                                       .hooks = {{.op = "wait", .nth = 1, .what = HOOK_KILL}}};
        struct result r;

        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        kernel_pass(USEC_PER_SEC); /* it appears */
        kernel_pass(25 * USEC_PER_SEC);
        assert_false(rule_holds(&fake->usb[0]));
        assert_true(fake->usb[0].luns[0].nodes[0].held);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        assert_int_equal(scene_recover(&s), 0);
        assert_null(scene_held());
        scene_remove();
}

static void is_slow(struct fake_usb *u)
{
        u->slow_on_uas = true;
}

/* Half of the time in which udev's helper waits is over, and the disk is still being examined: a
 * hold takes over. */
static void test_held_while_examined(void **state)
{
        struct scene s = {BOT, UAS, .partitions = 1, .prepare = is_slow};
        unsigned records = 0;
        struct result r;

        scene_make(&(struct scene){BOT, UAS, .partitions = 1});
        scene_switch(&s, &r);
        for (unsigned i = 0; i < fake->n_ops && !streq(fake->ops[i], "trial"); i++)
                records += streq(fake->ops[i], "write record");
        assert_int_equal(count("write hold", 0), 0);
        scene_remove();

        s.hooks[0] = (struct fake_hook){
                .op = "write record", .nth = records, .what = HOOK_WAIT, .error = 3};
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(count("write hold", 0), 1);
        assert_int_equal(fake->timers, 1);
        assert_null(scene_held());
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* The hold of a killed switch: its deadline, and the number of timers that PID 1 has started. */
static void killed_in_the_bind(struct scene s, usec_t *ret_left, unsigned *ret_timers)
{
        struct hold_mark m = {0};
        struct result r;

        s.hooks[1] = (struct fake_hook){.op = "bind uas", .nth = 1, .what = HOOK_KILL};
        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        assert_true(rule_holds(&fake->usb[0]));
        assert_int_equal(hold_read(&fake->roots, "2-1:1.0", &m), 1);
        *ret_left = m.deadline - fake->clock;
        *ret_timers = fake->timers;
        scene_remove();
}

/* No hold is longer than five minutes. Its timer ends it: one that is half over is started again.
 */
static void test_length_of_a_hold(void **state)
{
        static const struct {
                int hold_sec;
                int wait; /* seconds that the unbind takes, after the start of the timer */
                unsigned timers, left;
        } rows[] = {{20, 0, 1, 20},
                    {20, 9, 1, 11},
                    {20, 11, 2, 20},
                    {299, 0, 1, 299},
                    {600, 0, 1, 300}};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct scene s = {BOT, UAS, .plugged = true, .hold_sec = rows[i].hold_sec};
                unsigned timers;
                usec_t left;

                s.hooks[0] = (struct fake_hook){
                        .op = "unbind", .nth = 1, .what = HOOK_WAIT, .error = rows[i].wait};
                killed_in_the_bind(s, &left, &timers);
                assert_int_equal(timers, rows[i].timers);
                assert_int_equal((left + USEC_PER_SEC / 2) / USEC_PER_SEC, rows[i].left);
        }
}

/* udev's helper cannot know that it should wait for the switch: a hold begins before the bind. */
static void test_held_without_a_record(void **state)
{
        struct scene s = {BOT, UAS, .partitions = 1};
        unsigned records = 0;
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        for (unsigned i = 0; i < first("bind uas"); i++)
                records += streq(fake->ops[i], "write record");
        scene_remove();

        s.hooks[0] = (struct fake_hook){
                .op = "write record", .nth = records, .what = HOOK_FAIL, .error = ENOSPC};
        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_in_range(first("write hold"), 1, first("bind uas") - 1);
        assert_null(scene_held());
        assert_null(scene_wrong(&s));
        scene_remove();
}

static void hold_never(struct fake_usb *u)
{
        tree_write("quiet uasd.hold=0\n", "proc/cmdline");
}

static void hold_never_and_stalls(struct fake_usb *u)
{
        hold_never(u);
        stalls(u);
}

/* PID 1 starts no timer: nothing would end a hold. */
static void test_not_held_without_a_timer(void **state)
{
        static const struct scene s = {
                BOT, UAS, .partitions = 1, .plugged = true,
                .hooks = {{.op = "arm timer", .on = true, .what = HOOK_FAIL, .error = EIO}}};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(count("write hold", 0), 0);
        assert_null(scene_wrong(&s));
        scene_remove();
}

/* HoldSec=0 and uasd.hold=0 apply to uasd-switch as well. */
static void test_hold_never(void **state)
{
        static const struct scene scenes[] = {
                {BOT, UAS, .partitions = 1, .plugged = true, .hold_sec = -1},
                {BOT, UAS, .partitions = 1, .plugged = true, .hold_sec = -1, .prepare = stalls},
                {BOT, UAS, .partitions = 1, .plugged = true, .prepare = hold_never},
                {BOT, UAS, .partitions = 1, .plugged = true, .prepare = hold_never_and_stalls},
        };

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct result r;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                assert_int_equal(r.code, i % 2 ? UASD_EXIT_ROLLED_BACK : UASD_EXIT_OK);
                assert_int_equal(count("write hold", 0), 0);
                assert_int_equal(fake->timers, 0);
                assert_null(scene_wrong(&scenes[i]));
                scene_remove();
        }
}

/* The marks of the attachment: uasd does not repeat an automatic switch. A desktop mounts only what
 * a user plugged in. */
static void test_marks(void **state)
{
        static const struct scene scenes[] = {
                {BOT, UAS, .partitions = 1},
                {BOT, UAS, .partitions = 1, .automatic = true},
                {BOT, UAS, .partitions = 1, .plugged = true},
                {BOT, UAS, .partitions = 1, .automatic = true, .held = true},
                {BOT, UAS, .partitions = 1, .automatic = true, .prepare = stalls},
        };

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct attachment_mark a;
                struct facts f;
                struct result r;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                fake_facts(&fake->usb[0], &f);
                assert_true(attachment_read(&fake->roots, &f, &a) > 0);
                assert_int_equal(a.tried, scenes[i].automatic);
                assert_int_equal(a.switched_to, scenes[i].to);
                assert_int_equal(a.no_auto, !scenes[i].plugged && !scenes[i].held);
                assert_true(a.released); /* no other hold begins on this attachment */
                scene_remove();
        }
}

/* ---- the way back ---- */

/* Killed after the first of two deletes. The recovery ends when both LUNs are back and udev is done
 * with them. */
static void test_recovery_waits(void **state)
{
        static const enum driver ways[] = {BOT, UAS};

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                const struct scene s = {
                        ways[i], ways[!i], .luns = 2, .partitions = 1,
                        .hooks = {{.op = "delete 0:0:0:0", .nth = 1, .what = HOOK_KILL_DONE}}};
                const struct fake_lun *luns;
                struct result r;

                scene_make(&s);
                luns = fake->usb[0].luns;
                scene_switch_in_child(&s, &r);
                assert_int_equal(r.code, -1);
                assert_false(luns[0].there);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                assert_int_equal(scene_recover(&s), 0);
                assert_true(luns[0].there && luns[1].there);
                assert_true(udev_has_finished(&luns[0]));
                assert_int_equal(fake->usb[0].unbound, 0);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

/* Only drivers_probe gives it a driver. The switch ends when its disks are there: until then it is
 * held. */
static void test_any_driver(void **state)
{
        static const struct scene s = {UAS, BOT, .partitions = 1, .plugged = true,
                                       .hooks = {{.op = "bind", .what = HOOK_FAIL, .error = EIO}}};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_not_equal(count("drivers_probe", 0), 0);
        assert_int_equal(fake->usb[0].driver, UAS);
        assert_true(fake->usb[0].luns[0].there);
        assert_null(scene_wrong(&s));
        scene_remove();
}

static void entry_left(struct fake_usb *u)
{
        tree_write("ENTRY=1111:2222:u\n", "run/" RUN_QUIRKS_BIND);
}

/* An entry of an earlier bind cannot be taken out. A second one would be on no record, so no switch
 * begins that needs one. */
static void test_entry_left(void **state)
{
        static const struct scene s = {
                UAS, BOT, .quirks = "1111:2222:u", .prepare = entry_left,
                .hooks = {{.op = "quirks", .what = HOOK_FAIL, .error = EIO}}};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "prepare");
        assert_int_equal(fake->usb[0].touched, 0);
        scene_remove();

        /* To uas this disk needs none. */
        scene_make(&(struct scene){BOT, UAS, .quirks = "1111:2222:u", .prepare = entry_left,
                                   .hooks = {{.op = "quirks", .what = HOOK_FAIL, .error = EIO}}});
        scene_switch(&(struct scene){BOT, UAS}, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        scene_remove();

        /* Without an error the entry goes first. */
        scene_make(&(struct scene){UAS, BOT, .quirks = "1111:2222:u", .prepare = entry_left});
        scene_switch(&(struct scene){UAS, BOT}, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_false(tree_exists("run/" RUN_QUIRKS_BIND));
        assert_null(scene_wrong(&(struct scene){UAS, BOT}));
        scene_remove();
}

static void lock_without_uasd(struct fake_usb *u)
{
        tree_write("", "run/" RUN_DAEMON_LOCK);
}

/* The lock file of a uasd that has ended stays. No uasd watches the trial, so it has no result. */
static void test_uasd_has_gone(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1, .prepare = lock_without_uasd};
        struct usb_disk d = {0};
        struct history h;
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(usb_disk_read(&fake->roots, "2-1:1.0", true, &d), 1);
        assert_int_equal(history_read(&fake->roots, &d.facts, &h), 1);
        assert_int_equal(h.state, HISTORY_ENDED);
        usb_disk_done(&d);
        scene_remove();
}

/* ---- two faults at once ---- */

/* An error of the kernel, and a user at the next operations: whatever is not known counts as in
 * use. */
static void test_error_and_user(void **state)
{
        static const char *const errors[] = {"inotify", "users", "count", "read luns", "read disk"};
        static const enum fake_what users[] = {HOOK_OPEN, HOOK_OPEN_SG, HOOK_MOUNT_PRIVATE};
        bool all = true;

        for (size_t e = 0; e < ELEMENTSOF(errors); e++)
                for (size_t u = 0; u < ELEMENTSOF(users); u++)
                        for (unsigned after = 0; after < 6; after++) {
                                struct scene s = {BOT, UAS, .partitions = 1, .counts = u != 1};
                                struct result r;
                                const char *wrong;
                                unsigned at;

                                scene_make(&s);
                                scene_switch(&s, &r);
                                at = first(errors[e]);
                                scene_remove();
                                assert_int_not_equal(at, 0);
                                s.hooks[0] = (struct fake_hook){.op = errors[e],
                                                                .nth = 1,
                                                                .on = true,
                                                                .what = HOOK_FAIL,
                                                                .error = EIO};
                                s.hooks[1] =
                                        (struct fake_hook){.nth = at + after, .what = users[u]};
                                scene_make(&s);
                                scene_switch(&s, &r);
                                wrong = fake->broken[0]                             ? fake->broken
                                        : r.code == UASD_EXIT_OK && fake->opened_at ? "it went on"
                                                                                    : NULL;
                                memset(fake->hooks, 0, sizeof(fake->hooks));
                                if (wrong) {
                                        print_ops(errors[e], &r);
                                        print_error("%s\n", wrong);
                                        all = false;
                                }
                                scene_remove();
                        }
        assert_true(all);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_time),
                cmocka_unit_test(test_opens_hang),
                cmocka_unit_test(test_no_claim_on_the_way_back),
                cmocka_unit_test(test_unreadable_on_the_way_back),
                cmocka_unit_test(test_last_moment),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_first_failure),
                cmocka_unit_test(test_end_is_a_line),
                cmocka_unit_test(test_user_is_named),
                cmocka_unit_test(test_unnamed),
                cmocka_unit_test(test_held_while_examined),
                cmocka_unit_test(test_held_again),
                cmocka_unit_test(test_held_too_long),
                cmocka_unit_test(test_written_since),
                cmocka_unit_test(test_held_on_the_way_back),
                cmocka_unit_test(test_not_held),
                cmocka_unit_test(test_handed_over_first),
                cmocka_unit_test(test_slow_udev),
                cmocka_unit_test(test_length_of_a_hold),
                cmocka_unit_test(test_hold_never),
                cmocka_unit_test(test_not_held_without_a_timer),
                cmocka_unit_test(test_held_without_a_record),
                cmocka_unit_test(test_marks),
                cmocka_unit_test(test_any_driver),
                cmocka_unit_test(test_recovery_waits),
                cmocka_unit_test(test_entry_left),
                cmocka_unit_test(test_uasd_has_gone),
                cmocka_unit_test(test_error_and_user),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
