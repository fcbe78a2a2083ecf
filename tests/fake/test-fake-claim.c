/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <cmocka.h>

#include "play.h"
#include "wraps.h"

/* uasd-switch --claim claims all of an unused disk, and does nothing else. */

static unsigned kept;
static unsigned refused; /* whole disks that cannot be mounted meanwhile */

void __wrap_report_claim(const struct transaction *t)
{
        struct fake_usb *u = &fake->usb[0];

        kept++;
        for (unsigned l = 0; l < u->n_luns; l++)
                refused += kernel_mount(u->luns[l].nodes[1].name, true) == -EBUSY;
}

static void mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[0].nodes[1].name, true), 0);
}

static void second_mounted_elsewhere(struct fake_usb *u)
{
        assert_int_equal(kernel_mount(u->luns[1].nodes[1].name, false), 0);
}

static void pulled_out(struct fake_usb *u)
{
        kernel_unplug(u);
}

static int unnamed = -1;

static void opened_by_nobody(struct fake_usb *u)
{
        unnamed = openat(fake->roots.dev, "sda1", O_RDONLY | O_CLOEXEC);
        assert_true(unnamed >= 0);
}

#define SCENE .from = DRIVER_UAS, .luns = 2, .partitions = 1

static const struct {
        const char *what;
        struct scene s;
        bool again;
        int code;
        const char *text;
} rows[] = {
        /* clang-format off */
        {"free", {SCENE}, false, UASD_EXIT_OK, ""},
        {"free, again", {SCENE}, true, UASD_EXIT_OK, ""},
        {"mounted", {SCENE, .prepare = mounted}, false, UASD_EXIT_DEFERRED, "in use: mount of sda1 at "},
        {"mounted, again", {SCENE, .prepare = mounted}, true, UASD_EXIT_DEFERRED, "in use: a mount or a program has claimed sda"},
        {"a LUN of it, out of sight", {SCENE, .prepare = second_mounted_elsewhere}, false, UASD_EXIT_DEFERRED, "in use: "},
        {"a LUN of it, again", {SCENE, .prepare = second_mounted_elsewhere}, true, UASD_EXIT_DEFERRED, "in use: a mount or a program has claimed sdb"},
        {"opened when it was looked at", {SCENE, .hooks = {{.op = "users", .nth = 1, .what = HOOK_OPEN}}}, false, UASD_EXIT_DEFERRED, "in use: open of sd"},
        {"opened, and no list shows it", {SCENE, .counts = true, .prepare = opened_by_nobody}, false, UASD_EXIT_DEFERRED, "in use: a program that cannot be named has the disk open"},
        {"opened, and no list shows it, again", {SCENE, .counts = true, .prepare = opened_by_nobody}, true, UASD_EXIT_OK, ""},
        {"opened, again", {SCENE, .hooks = {{.op = "open sda", .nth = 1, .what = HOOK_OPEN}}}, true, UASD_EXIT_OK, ""},
        {"mounted when it was looked at", {SCENE, .hooks = {{.op = "users", .nth = 1, .what = HOOK_MOUNT}}}, false, UASD_EXIT_DEFERRED, "in use: "},
        {"it cannot be opened", {SCENE, .hooks = {{.op = "open sdb", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, false, UASD_EXIT_FAILED, "cannot open sdb: "},
        {"its users cannot be read", {SCENE, .hooks = {{.op = "users", .nth = 1, .what = HOOK_FAIL, .error = EIO}}}, false, UASD_EXIT_FAILED, "cannot find out who uses the disk"},
        {"without a block device", {.from = DRIVER_UAS, .unscanned = true}, false, UASD_EXIT_FAILED, "it has no block device"},
        {"unplugged", {SCENE, .prepare = pulled_out}, false, UASD_EXIT_NO_DISK, "there is no USB storage interface 2-1:1.0"},
        /* clang-format on */
};

/* The requester of the claim has sent something, and is gone. */
static void requester_ends(void)
{
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(write(fds[1], "ab", 2), 2);
        assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
        (void) close(fds[0]);
        (void) close(fds[1]);
}

static bool play(size_t i)
{
        struct transaction t = TRANSACTION_NULL;
        unsigned touched;
        bool good;
        char byte;
        int code;

        kept = refused = 0;
        scene_make(&rows[i].s);
        t.roots = fake->roots;
        t.interface = "2-1:1.0";
        config_init(&t.config);
        touched = fake->usb[0].touched;
        requester_ends();
        code = transaction_claim(&t, rows[i].again);
        good = code == rows[i].code &&
               strncmp(t.result.text, rows[i].text, strlen(rows[i].text)) == 0 &&
               fake->usb[0].touched == touched && !fake->broken[0] &&
               kept == (code == UASD_EXIT_OK) && (!kept || refused == 2) &&
               /* A claim lasts until the end of the standard input. */
               kept == (read(STDIN_FILENO, &byte, 1) == 0) &&
               /* The fake kernel takes an open by another process for the claim. */
               (fake->someone || (!fake_claims("sda") && !fake_claims("sdb")));
        if (!good)
                print_error("%s: %i \"%s\", kept %u, refused %u, %s\n", rows[i].what, code,
                            t.result.text, kept, refused, fake->broken);
        unnamed = close_keep_errno(unnamed);
        config_done(&t.config);
        scene_remove();
        return good;
}

static void test_claims(void **state)
{
        bool good = true;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                good = play(i) && good;
        assert_true(good);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_claims)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
