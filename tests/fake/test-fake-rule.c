/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../patience.h"
#include "sweep.h"
#include "switch/undo-claim.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/names.h"

/*
 * The rule (src/switch/remove.c): uasd neither deletes nor unbinds a LUN that it has not claimed.
 * The scenes: disks that spin up, LUNs that come back, LUNs that never get a block device, and an
 * error and a mount in one switch.
 */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

/* The state after the bind. The first `probing` LUNs are still being probed for so many seconds. */
static void probed_for(struct fake_usb *u, unsigned seconds)
{
        enum driver d = u->driver;
        char before[sizeof(fake->quirks)];

        memcpy(before, fake->quirks, sizeof(before));
        fakesys_set_quirks(d == UAS ? "" : "1209:5a5a:u");
        assert_int_equal(kernel_unbind(d, u->interface), 0);
        u->spun_at = fake->clock + (1 + seconds) * USEC_PER_SEC + 100 * USEC_PER_MSEC;
        assert_int_equal(kernel_bind(d, u->interface), 0);
        kernel_pass(USEC_PER_SEC + 60 * USEC_PER_MSEC);
        fakesys_set_quirks(before);
        u->touched = u->unbound = 0;
        fake->lost = fake->at_risk = 0;
}

static void spins_up(struct fake_usb *u)
{
        probed_for(u, 5);
        assert_true(u->luns[0].probing && !u->luns[0].there);
}

static void is_nearly_up(struct fake_usb *u)
{
        probed_for(u, 1);
        assert_true(u->luns[0].probing);
}

static void second_spins_up(struct fake_usb *u)
{
        probed_for(u, 0);
        kernel_pass(USEC_PER_SEC);
        tree_lun_gone(u, 1);
        u->luns[1].there = false;
        u->luns[1].probing = true;
        u->spun_at = fake->clock + 5 * USEC_PER_SEC;
        tree_scsi(u, 1);
}

static void enclosure(struct fake_usb *u, unsigned lun)
{
        tree_lun_gone(u, lun);
        u->luns[lun] = (struct fake_lun){.type = 13};
        tree_scsi(u, lun);
}

static void second_is_an_enclosure(struct fake_usb *u)
{
        enclosure(u, 1);
}

static void is_an_enclosure(struct fake_usb *u)
{
        enclosure(u, 0);
}

static void probe_of_second_failed(struct fake_usb *u)
{
        tree_lun_gone(u, 1);
        u->luns[1] = (struct fake_lun){.declined = true};
        tree_scsi(u, 1);
}

/* A SCSI device without a block device must be the same afterwards. */
static const char *broken_rule(const struct scene *s)
{
        const char *text;

        for (unsigned i = 0; i < fake->usb[0].n_luns; i++)
                if (fake->usb[0].luns[i].type || fake->usb[0].luns[i].declined)
                        fake->usb[0].n_luns = i;
        text = fake->usb[0].n_luns ? scene_wrong(s) : NULL;
        return text ? text : fake->broken[0] ? fake->broken : NULL;
}

static bool play(const char *what, const struct scene *s, int code, bool touched)
{
        struct result r;
        const char *text;
        bool good;

        scene_make(s);
        scene_switch(s, &r);
        good = r.code == code && (fake->usb[0].unbound > 0) == touched;
        text = broken_rule(s);
        good = good && !text;
        if (!good) {
                print_error("%s: %s; on %s, touched %u, code %i at %s: %s\n", what,
                            text ? text : "-", driver_to_string(fake->usb[0].driver),
                            fake->usb[0].touched, r.code, r.step, r.text);
                scene_print_ops();
        }
        scene_remove();
        return good;
}

static void test_luns(void **state)
{
        static const struct {
                const char *what;
                struct scene s;
                int code;
                bool moved;
        } table[] = {
                /* clang-format off */
                {"a disk that spins up is waited for", {BOT, UAS, .partitions = 1, .prepare = spins_up}, UASD_EXIT_DEFERRED, false},
                {"the same off uas", {UAS, BOT, .partitions = 1, .prepare = spins_up}, UASD_EXIT_DEFERRED, false},
                {"the same under a hold", {BOT, UAS, .partitions = 1, .held = true, .prepare = spins_up}, UASD_EXIT_DEFERRED, false},
                {"a disk that is nearly up is moved", {BOT, UAS, .partitions = 1, .prepare = is_nearly_up}, UASD_EXIT_OK, true},
                {"its second LUN spins up", {BOT, UAS, .luns = 2, .partitions = 1, .prepare = second_spins_up}, UASD_EXIT_DEFERRED, false},
                {"its second LUN is an enclosure", {BOT, UAS, .luns = 2, .prepare = second_is_an_enclosure}, UASD_EXIT_OK, true},
                {"the same off uas", {UAS, BOT, .luns = 2, .prepare = second_is_an_enclosure}, UASD_EXIT_OK, true},
                {"no driver took its second LUN", {BOT, UAS, .luns = 2, .prepare = probe_of_second_failed}, UASD_EXIT_OK, true},
                {"an enclosure alone is no disk", {BOT, UAS, .prepare = is_an_enclosure}, UASD_EXIT_DEFERRED, false},
                /* clang-format on */
        };
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                all = play(table[i].what, &table[i].s, table[i].code, table[i].moved) && all;
        assert_true(all);
}

static unsigned late_usec;

static void comes_at_some_moment(struct fake_usb *u)
{
        probed_for(u, 0);
        kernel_pass(USEC_PER_SEC);
        assert_true(u->luns[0].there);
        tree_lun_gone(u, 0);
        u->luns[0].there = false;
        u->luns[0].probing = true;
        tree_scsi(u, 0);
        u->spun_at = fake->clock + late_usec;
}

/* The kernel shows a disk in sysfs a moment before it can be opened. This is no failure of the
 * disk. */
static void test_appears_in_the_claim(void **state)
{
        bool all = true;

        for (late_usec = 0; late_usec < 120 * USEC_PER_MSEC; late_usec += 2 * USEC_PER_MSEC) {
                const struct scene s = {BOT, UAS, .partitions = 1, .prepare = comes_at_some_moment};

                all = play("a disk that appears in the claim", &s, UASD_EXIT_OK, true) && all;
        }
        assert_true(all);
}

/* The disk appears after any operation of the switch, and is mounted at once. */
static void test_mounted_when_it_appears(void **state)
{
        bool all = true, happened = true;
        unsigned n = 0;

        while (happened) {
                struct scene s = {BOT, UAS, .partitions = 1, .prepare = spins_up,
                                  .hooks = {{.what = HOOK_WAIT, .error = 6}, {.what = HOOK_MOUNT}}};
                struct result r;

                s.hooks[0].nth = s.hooks[1].nth = ++n;
                scene_make(&s);
                scene_switch(&s, &r);
                happened = fake->hooks[1].seen >= n;
                if (scene_wrong(&s) || r.code != UASD_EXIT_DEFERRED || fake->usb[0].touched) {
                        print_error("mounted after operation %u (%s): %s, code %i at %s: %s\n", n,
                                    fake->ops[n - 1], fake->broken, r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        print_message("%u operations\n", n - 1);
        assert_true(all && n > 20);
}

/* Another program makes the kernel scan between a delete and the unbind. The LUN that comes back is
 * not claimed. */
static void test_rescanned(void **state)
{
        static const enum driver ways[] = {BOT, UAS};
        static const char *const ops[] = {"delete 0:0:0:0", "delete 0:0:0:1", "write record"};
        bool all = true;

        for (size_t way = 0; way < ELEMENTSOF(ways); way++)
                for (size_t i = 0; i < ELEMENTSOF(ops); i++)
                        for (int mounted = 0; mounted < 2; mounted++) {
                                enum driver from = ways[way];
                                struct scene s = {from, from == UAS ? BOT : UAS, .luns = 2,
                                                  .partitions = 1, .watched = true};
                                unsigned nth = i < 2 ? 1 : 9;
                                struct clean c;
                                struct result r;

                                sweep_clean(&s, &c);
                                for (unsigned n = 0, k = 0; i == 2 && n < c.n; n++) {
                                        k += streq(c.ops[n], "write record");
                                        if (strncmp(c.ops[n], "delete", 6) == 0)
                                                nth = k + 1;
                                }
                                s.hooks[0] = (struct fake_hook){
                                        .op = ops[i], .nth = nth, .what = HOOK_RESCAN};
                                if (mounted)
                                        s.hooks[1] = (struct fake_hook){
                                                .op = ops[i], .nth = nth, .what = HOOK_MOUNT};
                                scene_make(&s);
                                scene_switch(&s, &r);
                                if (r.code != UASD_EXIT_DEFERRED || fake->usb[0].unbound ||
                                    scene_wrong(&s)) {
                                        print_error(
                                                "from %s, scan after %s no. %u%s: %s, code %i at %s: %s\n",
                                                driver_to_string(from), ops[i], nth,
                                                mounted ? " and mounted" : "", fake->broken, r.code,
                                                r.step, r.text);
                                        all = false;
                                }
                                scene_remove();
                        }
        assert_true(all);
}

/* ---- the way back ---- */

static void loses_a_lun(struct fake_usb *u)
{
        u->missing_on_uas = 2;
        fake->haste = true;
}

/*
 * After each operation on the way back the missing LUN appears and is mounted. No claim and no
 * search for users is about it: only the rule before the unbind sees it. No process can prevent it
 * between the rule's own look and the write.
 */
static void test_appears_on_the_way_back(void **state)
{
        const struct scene s = {
                BOT, UAS, .luns = 2, .partitions = 1, .watched = true, .prepare = loses_a_lun};
        unsigned refused = 0, first = 0, last = 0;
        bool all = true;
        struct clean c;

        sweep_clean(&s, &c);
        for (unsigned n = 1; n <= c.n; n++) {
                first = streq(c.ops[n - 1], "bind uas") ? n : first;
                last = streq(c.ops[n - 1], "unbind uas") ? n : last;
        }
        assert_true(first && last > first + 10 && streq(c.ops[last - 2], "read luns"));
        for (unsigned n = first; n < last - 1; n++) {
                struct scene now = s;
                struct result r;

                now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_LATE_LUN};
                if (sweep_again(&c, n))
                        continue;
                scene_make(&now);
                scene_switch(&now, &r);
                refused += strstr(r.text, "it is in use already, and stays") != NULL;
                if (scene_wrong(&now) || fake->usb[0].driver != UAS ||
                    !fake->usb[0].luns[1].nodes[1].mounted) {
                        print_error("it appears after %u (%s): %s, code %i at %s: %s\n", n,
                                    c.ops[n - 1], fake->broken, r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all && refused > 0);
}

/* ---- pairs ---- */

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

static const struct scene pairs[] = {
        {BOT, UAS, .partitions = 1, .prepare = stalls},
        {BOT, UAS, .luns = 2, .partitions = 1, .prepare = garbles},
        {BOT, UAS, .luns = 2, .partitions = 1, .prepare = loses_a_lun},
        {UAS, BOT, .luns = 2, .partitions = 1},
        {BOT, UAS, .partitions = 1, .counts = true},
};
static bool
        every_pair; /* all scenes; in those without another fault, also mounts before the bind */
#define NEAR 4      /* otherwise: number of operations after the error */

static bool still_mounted(void)
{
        bool mounted = false;

        for (unsigned l = 0; l < fake->usb[0].n_luns; l++)
                for (unsigned i = 0; fake->usb[0].luns[l].there && i < fake->usb[0].luns[l].n_nodes;
                     i++)
                        mounted = mounted || fake->usb[0].luns[l].nodes[i].mounted;
        return mounted;
}

static bool pair(const struct scene *s, const struct clean *c, unsigned n, unsigned m)
{
        struct scene now = *s;
        struct result r = {0};
        const char *text;

        now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_FAIL, .error = ENOMEM};
        now.hooks[1] = (struct fake_hook){.nth = m, .what = HOOK_MOUNT};
        scene_make(&now);
        scene_switch(&now, &r);
        text = fake->opened_at && !still_mounted() ? "the mount is gone" : NULL;
        /* the claim refused a mount, then an error ended the switch: this cannot be avoided */
        fake->refused = false;
        /* A disk in use on its new driver stays there, without the LUN that this driver does not
         * show. */
        if (fake->usb[0].missing_on_uas && fake->usb[0].driver == UAS)
                fake->usb[0].n_luns = fake->usb[0].missing_on_uas - 1;
        if (!text && strncmp(fake->ops[n - 1], "remove", 6) !=
                             0) /* an error of the removal leaves the file */
                text = scene_wrong(&now);
        if (text)
                print_error("%s to %s, ENOMEM at %u (%s), mounted at %u: %s (code %i at %s: %s)\n",
                            driver_to_string(s->from), driver_to_string(s->to), n, fake->ops[n - 1],
                            m, text, r.code, r.step, r.text);
        scene_remove();
        return !text;
}

static bool was_bound(const struct clean *c, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (strncmp(c->ops[i], "bind", 4) == 0)
                        return true;
        return false;
}

static void test_pairs(void **state)
{
        unsigned n_pairs = 0;
        bool all = true;

        for (size_t i = 0; i < (every_pair ? ELEMENTSOF(pairs) : 1); i++) {
                struct clean c;
                bool bound = every_pair && !pairs[i].prepare;
                unsigned examined =
                        0; /* a mount at that operation lasts during the whole rollback */

                sweep_clean(&pairs[i], &c);
                for (unsigned n = 1; n <= c.n; n++) {
                        bound = bound || was_bound(&c, n);
                        if (!bound || sweep_again(&c, n))
                                continue;
                        if (!examined && streq(c.ops[n - 1], "trial"))
                                examined = n;
                        for (unsigned m = 1; m <= c.n + 2; m++)
                                if ((every_pair || m == examined || (m >= n && m <= n + NEAR)) &&
                                    (m > c.n || !sweep_again(&c, m))) {
                                        if (pairs[i].prepare && m < c.n && !was_bound(&c, m))
                                                continue;
                                        /* a pair that never ends fails, a slow machine does not */
                                        (void) alarm((unsigned) patience(60));
                                        all = pair(&pairs[i], &c, n, m) && all;
                                        n_pairs++;
                                }
                }
        }
        (void) alarm(0);
        print_message("%u pairs\n", n_pairs);
        assert_true(all);
}

/* ---- other processes that give the disk a driver ---- */

/* A claim would make a mount of the disk fail. */
static bool touches_the_disk(const char *op)
{
        static const char *const ops[] = {"bind", "unbind", "drivers_probe", "open sd", "quirks"};

        for (size_t i = 0; i < ELEMENTSOF(ops); i++)
                if (strncmp(op, ops[i], strlen(ops[i])) == 0)
                        return true;
        return false;
}

/* The dead man's timer has given the disk to any driver. A uasd-switch that wakes up after that
 * does not touch it. */
static void test_rescued(void **state)
{
        struct scene s = {BOT, UAS, .partitions = 1};
        struct clean c;
        bool all = true, unbound = false;

        sweep_clean(&s, &c);
        for (unsigned n = 1; n <= c.n && !strstr(c.ops[n - 1], "bind uas"); n++) {
                struct scene now = s;
                struct result r;
                bool touched = false;

                unbound = unbound || strncmp(c.ops[n - 1], "unbind", 6) == 0;
                if (!unbound)
                        continue;
                now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_RESCUE};
                scene_make(&now);
                scene_switch(&now, &r);
                for (unsigned k = n; k < fake->n_ops; k++)
                        touched = touched || touches_the_disk(fake->ops[k]);
                if (touched || r.code == UASD_EXIT_OK || scene_wrong(&now)) {
                        print_error("rescued at %u (%s): %s; code %i at %s: %s\n", n, c.ops[n - 1],
                                    touched ? "it went on" : "-", r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(unbound);
        assert_true(all);
}

/* Killed; then another disk is plugged in at the same port. The recovery does not move that one. */
static void test_replaced_before_recovery(void **state)
{
        static const struct {
                const char *op;
                unsigned nth;
        } kills[] = {{"delete", 1}, {"unbind", 1}, {"bind", 1}, {"trial", 1}};

        for (size_t i = 0; i < 2 * ELEMENTSOF(kills); i++) {
                /* the kernel has not looked for the LUN of the other disk yet */
                bool unscanned = i >= ELEMENTSOF(kills);
                struct scene s = {BOT, UAS, .partitions = 1,
                                  .hooks = {{.op = kills[i % ELEMENTSOF(kills)].op,
                                             .nth = kills[i % ELEMENTSOF(kills)].nth,
                                             .what = HOOK_KILL_DONE}}};
                struct result r;

                scene_make(&s);
                scene_switch_in_child(&s, &r);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                kernel_replug(&fake->usb[0]);
                if (unscanned) {
                        tree_lun_gone(&fake->usb[0], 0);
                        fake->usb[0].luns[0].there = false;
                }
                fake->usb[0].touched = 0;
                assert_int_equal(scene_recover(&s), 0);
                assert_int_equal(fake->usb[0].touched, 0);
                if (unscanned)
                        kernel_rescan(&fake->usb[0]);
                assert_null(scene_wrong(&s));
                scene_remove();
        }
}

/* Killed; then another program has given the interface to another driver. It keeps it. */
static void test_taken_before_recovery(void **state)
{
        static const struct scene s = {
                BOT, UAS, .partitions = 1,
                .hooks = {{.op = "unbind", .nth = 1, .what = HOOK_KILL_DONE}}};
        struct fake_usb *u;
        struct result r;

        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        memset(fake->hooks, 0, sizeof(fake->hooks));
        u = &fake->usb[0];
        u->driver = DRIVER_OTHER;
        tree_driver(u);
        u->touched = fake->n_ops = 0;
        assert_int_equal(scene_recover(&s), 0);
        assert_int_equal(u->touched, 0);
        for (unsigned n = 0; n < fake->n_ops; n++)
                assert_false(touches_the_disk(fake->ops[n]));
        assert_false(tree_exists("run/uasd/switch/2-1:1.0"));
        scene_remove();
}

/* Every look finds another medium. */
static void test_media_keep_changing(void **state)
{
        static const struct scene s = {BOT, UAS, .partitions = 1,
                                       .hooks = {{.op = "open sda", .what = HOOK_MEDIUM}}};
        struct result r;

        assert_true(scene_play(&s, "media keep changing", &r));
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "claim");
        assert_int_equal(r.driver, BOT);
}

static void shows_no_state(struct fake_usb *u)
{
        tree_remove("sys/bus/scsi/devices/%i:0:0:0/state", u->host);
}

/* The claim of a deleted LUN lasts until the bind if the kernel does not show its state. It is none
 * on a disk that came since. */
static void test_claim_of_the_former_disk(void **state)
{
        const struct scene s = {.from = DRIVER_UAS,
                                .to = DRIVER_USB_STORAGE,
                                .partitions = 1,
                                .prepare = shows_no_state,
                                .hooks = {{.op = "delete", .nth = 1, .what = HOOK_RESCAN}}};
        struct result r;

        scene_make(&s);
        scene_switch(&s, &r);
        assert_int_equal(r.code, UASD_EXIT_DEFERRED);
        assert_string_equal(r.step, "unbind");
        assert_int_equal(fake->usb[0].unbound, 0);
        assert_int_equal(fake->usb[0].driver, DRIVER_UAS);
        assert_null(scene_held());
        assert_string_equal(fake->broken, "kept its claim through the delete of sda");
        fake->broken[0] = '\0';
        scene_remove();
}

/* The OOM killer may come between the claim of a child and the unbind. */
static void test_claim_of_a_dead_child(void **state)
{
        const struct scene s = {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1};
        struct transaction t = TRANSACTION_NULL;
        siginfo_t si;
        pid_t child;

        scene_make(&s);
        t.roots = fake->roots;
        t.interface = "2-1:1.0";
        fake->switcher = getpid();
        assert_int_equal(undo_claim_begin(&t), 0);
        assert_true(undo_claim_has(&t, &t.undo.disk.luns[0]));
        child = t.undo.children[0].pid;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t) child, &si, WEXITED | WNOWAIT), 0);
        assert_false(undo_claim_has(&t, &t.undo.disk.luns[0]));
        undo_claim_end(&t, false);
        scene_remove();
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_luns),
                                           cmocka_unit_test(test_appears_in_the_claim),
                                           cmocka_unit_test(test_mounted_when_it_appears),
                                           cmocka_unit_test(test_rescanned),
                                           cmocka_unit_test(test_appears_on_the_way_back),
                                           cmocka_unit_test(test_rescued),
                                           cmocka_unit_test(test_replaced_before_recovery),
                                           cmocka_unit_test(test_taken_before_recovery),
                                           cmocka_unit_test(test_media_keep_changing),
                                           cmocka_unit_test(test_claim_of_the_former_disk),
                                           cmocka_unit_test(test_claim_of_a_dead_child),
                                           cmocka_unit_test(test_pairs)};
        const struct CMUnitTest pairs_only[] = {cmocka_unit_test(test_pairs)};

        every_pair = argc > 1;
        return every_pair ? cmocka_run_group_tests(pairs_only, NULL, NULL)
                          : cmocka_run_group_tests(tests, NULL, NULL);
}
