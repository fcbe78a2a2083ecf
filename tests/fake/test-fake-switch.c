/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../patience.h"
#include "play.h"

/* Tables of switches that succeed, and of switches that do not. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

static void uas_is_registered(struct fake_usb *u)
{
        fake->files_at = fake->clock + 200 * USEC_PER_MSEC;
}

static void no_diskseq(struct fake_usb *u)
{
        fake->no_diskseq = true;
        for (unsigned l = 0; l < u->n_luns; l++)
                tree_remove("sys/block/%s/diskseq", u->luns[l].nodes[0].name);
}

static void is_protected(struct fake_usb *u)
{
        u->luns[0].protected = true;
        (void) kernel_fsync("sda");
}

/* Longer than uasd-switch waits for a disk. */
static void long_delay_use(struct fake_usb *u)
{
        fake->haste = true;
        fake->delay_use = 40 * USEC_PER_SEC;
        tree_write("40\n", "sys/module/usb_storage/parameters/delay_use");
}

static void long_delay_use_msec(struct fake_usb *u)
{
        long_delay_use(u);
        tree_write("40500ms\n", "sys/module/usb_storage/parameters/delay_use");
}

/* A large disk needs most of the time in which it may appear. */
static void spins_up_again(struct fake_usb *u)
{
        fake->haste = true;
        u->spun_at = fake->clock + 28 * USEC_PER_SEC;
}

static const struct {
        const char *what;
        struct scene s;
} good[] = {
        /* clang-format off */
        {"to usb-storage, which waits", {.from = UAS, .to = BOT, .partitions = 1, .prepare = long_delay_use}},
        {"to usb-storage, which waits, on a newer kernel", {.from = UAS, .to = BOT, .partitions = 1, .prepare = long_delay_use_msec}},
        {"to uas", {.from = BOT, .to = UAS, .partitions = 2}},
        {"to uas, where it spins up", {.from = BOT, .to = UAS, .partitions = 1, .prepare = spins_up_again}},
        {"to usb-storage", {.from = UAS, .to = BOT, .partitions = 2}},
        {"an old kernel", {.from = BOT, .to = UAS, .luns = 2, .partitions = 1, .prepare = no_diskseq}},
        {"an old kernel, back", {.from = UAS, .to = BOT, .luns = 2, .partitions = 1, .prepare = no_diskseq}},
        {"to usb-storage, while uas is being registered", {.from = UAS, .to = BOT, .prepare = uas_is_registered}},
        {"to uas, two LUNs", {.from = BOT, .to = UAS, .luns = 2, .partitions = 1}},
        {"to usb-storage, two LUNs", {.from = UAS, .to = BOT, .luns = 2, .partitions = 1}},
        {"without a partition", {.from = BOT, .to = UAS}},
        {"to usb-storage, since uas cannot read it any more",
         {.from = UAS, .to = BOT, .luns = 2, .partitions = 1, .hooks = {{.op = "fingerprint", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}},
        {"an empty slot cannot be flushed",
         {.from = UAS, .to = BOT, .luns = 2, .slot = true, .hooks = {{.op = "sync sdb", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}},
        {"a medium that cannot be written cannot be flushed",
         {.from = UAS, .to = BOT, .prepare = is_protected, .hooks = {{.op = "sync sda", .nth = 1, .what = HOOK_FAIL, .error = EROFS}}}},
        {"its node comes a moment after it", {.from = BOT, .to = UAS, .hooks = {{.op = "open sda", .nth = 1, .what = HOOK_FAIL, .error = ENOENT}}}},
        {"the same under uas", {.from = BOT, .to = UAS, .hooks = {{.op = "open sda", .nth = 3, .what = HOOK_FAIL, .error = ENOENT}}}},
        {"without udev", {.from = UAS, .to = BOT, .no_udev = true}},
        {"all events are lost", {.from = BOT, .to = UAS, .luns = 2, .lost_events = true}},
        {"all events are lost, back", {.from = UAS, .to = BOT, .partitions = 1, .lost_events = true}},
        {"udev looks at it meanwhile",
         {.from = BOT, .to = UAS, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_GLANCE}}}},
        {"a program writes to it meanwhile",
         {.from = UAS, .to = BOT, .hooks = {{.op = "sync", .nth = 1, .what = HOOK_WRITE}}}},
        {"a program writes to it once it is synced",
         {.from = UAS, .to = BOT, .hooks = {{.op = "fingerprint", .nth = 1, .what = HOOK_WRITE}}}},
        {"nobody asked", {.from = BOT, .to = UAS, .automatic = true}},
        {"held at boot", {.from = BOT, .to = UAS, .automatic = true, .held = true, .partitions = 2}},
        {"opens are counted", {.from = BOT, .to = UAS, .counts = true, .partitions = 2}},
        {"vendor kernel, to uas", {.from = BOT, .to = UAS, .vendor = true}},
        {"vendor kernel, to usb-storage", {.from = UAS, .to = BOT, .vendor = true}},
        {"vendor kernel, two LUNs", {.from = BOT, .to = UAS, .vendor = true, .luns = 2, .partitions = 1}},
        {"others' quirks", {.from = BOT, .to = UAS, .quirks = "abcd:1234:u,1:2:fg"}},
        {"others' quirks, back", {.from = UAS, .to = BOT, .quirks = "abcd:1234:u,1:2:fg"}},
        {"a user's own entry for this disk", {.from = BOT, .to = UAS, .quirks = "1209:5a5a:fu"}},
        {"the same, behind others", {.from = BOT, .to = UAS, .quirks = "1:2:,abcd:1234:u,1209:5a5a:fu"}},
        {"the same, before others", {.from = BOT, .to = UAS, .quirks = "1209:5a5a:u,abcd:1234:u,1:2:"}},
        {"an entry against u, to usb-storage", {.from = UAS, .to = BOT, .quirks = "1209:5a5a:f,1:2:u"}},
        {"with the newline of an echo", {.from = UAS, .to = BOT, .quirks = "abcd:1234:u\n"}},
        {"emptied by a newline", {.from = UAS, .to = BOT, .quirks = "\n"}},
        {"vendor kernel with an entry", {.from = BOT, .to = UAS, .vendor = true, .quirks = "1209:5a5a:u"}},
        {"one of two of the same make", {.from = BOT, .to = UAS, .quirks = "1209:5a5a:u", .bystander = true}},
        {"one of two of the same make, back", {.from = UAS, .to = BOT, .bystander = true}},
        {"the string is almost full",
         {.from = UAS,
          .to = BOT,
          .quirks = "1111:1111:u,2222:2222:u,3333:3333:u,4444:4444:u,5555:5555:u,6666:6666:u,7777:7777:u,"
                    "8888:8888:u,9999:9999:u"}},
        /* clang-format on */
};

/* The name stays, every LUN is on the new driver, and every byte is on the platter. */
static const char *went_wrong(const struct scene *s, const struct result *r)
{
        const struct fake_usb *u = &fake->usb[0];

        if (r->code != UASD_EXIT_OK || u->driver != s->to)
                return "it did not go";
        if (u->luns[0].letter != 0)
                return "sda is another one now";
        for (unsigned l = 0; l < u->n_luns; l++)
                if (!u->luns[l].empty &&
                    u->luns[l].platter !=
                            4096 * (s->partitions + 1) + (l == 0 && fake->written_late))
                        return "not every byte is there";
        if (fake->early)
                return "it looked before the disk was announced";
        return scene_held();
}

static void test_good(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct result r;
                const char *wrong, *also;

                scene_make(&good[i].s);
                scene_switch(&good[i].s, &r);
                also = went_wrong(&good[i].s, &r);
                wrong = scene_wrong(&good[i].s);
                if (wrong || also) {
                        print_error("%s: %s; %s (%i at %s: %s)\n", good[i].what,
                                    wrong ? wrong : "-", also ? also : "-", r.code, r.step, r.text);
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

/* uasd-switch records the names of the disk before it touches the disk. From then on it asks no
 * disk that may hang. */
static void test_names_are_kept(void **state)
{
        const struct scene s = {.from = BOT,
                                .to = UAS,
                                .partitions = 1,
                                .hooks = {{.op = "sync", .nth = 1, .what = HOOK_LOCK_DEVICE}}};
        struct result r;

        (void) alarm((unsigned) patience(60));
        scene_make(&s);
        scene_switch(&s, &r);
        assert_null(scene_wrong(&s));
        assert_int_equal(r.code, UASD_EXIT_OK);
        scene_remove();
        (void) alarm(0);
}

/* The recovery records them as well. */
static void test_names_are_kept_for_recovery(void **state)
{
        const struct scene s = {.from = BOT,
                                .to = UAS,
                                .partitions = 1,
                                .hooks = {{.op = "sync", .nth = 1, .what = HOOK_LOCK_DEVICE},
                                          {.op = "bind", .nth = 1, .what = HOOK_KILL}}};
        struct result r;

        (void) alarm((unsigned) patience(60));
        scene_make(&s);
        scene_switch_in_child(&s, &r);
        assert_int_equal(r.code, -1);
        assert_int_equal(scene_recover(&s), 0);
        assert_null(scene_wrong(&s));
        assert_int_equal(fake->usb[0].driver, BOT);
        scene_remove();
        (void) alarm(0);
}

static void another_is_mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(fake->usb[1].luns[0].nodes[1].name, true), 0);
}

/*
 * An open between the claim and the delete fails with EBUSY. Where opens are counted, nothing slow
 * happens in between, also when another disk of the driver is in use.
 */
static void test_short_claim(void **state)
{
        const struct scene scenes[] = {
                {.from = BOT, .to = UAS, .counts = true, .partitions = 2, .luns = 2},
                {.from = UAS,
                 .to = BOT,
                 .counts = true,
                 .partitions = 2,
                 .bystander = true,
                 .prepare = another_is_mounted},
        };

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                unsigned n_luns = scenes[i].luns ? scenes[i].luns : 1, claim = 0, deleted = 0;
                struct result r;

                scene_make(&scenes[i]);
                scene_switch(&scenes[i], &r);
                assert_string_equal(r.text, "");
                assert_null(scene_wrong(&scenes[i]));
                while (deleted < fake->n_ops && strncmp(fake->ops[deleted], "delete ", 7) != 0)
                        deleted++;
                assert_true(deleted < fake->n_ops);
                for (claim = deleted; claim > 0 && strncmp(fake->ops[claim], "open ", 5) != 0;
                     claim--)
                        ;
                assert_string_equal(fake->ops[claim], n_luns == 1 ? "open sda" : "open sdb");
                for (unsigned k = claim + 1; k < deleted; k++)
                        assert_string_equal(fake->ops[k], k + 1 == deleted ? "read luns" : "count");
                for (unsigned k = 0; !scenes[i].bystander && k < deleted; k++)
                        assert_string_not_equal(fake->ops[k],
                                                "users deep"); /* the count alone shows that no
                                                                  other process has it open */
                scene_remove();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_good),
                                           cmocka_unit_test(test_names_are_kept),
                                           cmocka_unit_test(test_names_are_kept_for_recovery),
                                           cmocka_unit_test(test_short_claim)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
