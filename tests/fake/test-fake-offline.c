/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "play.h"

/*
 * A LUN that the kernel has given up (SCSI state "offline"). It cannot be opened, and its unwritten
 * data is lost. A switch to usb-storage repairs it if it has no user.
 */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS

static void first(struct fake_usb *u)
{
        kernel_gives_up(u, 0);
}

static void second(struct fake_usb *u)
{
        kernel_gives_up(u, 1);
}

static void first_is_mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount("sda1", true), 0);
        first(u);
}

static void second_is_mounted(struct fake_usb *u)
{
        assert_int_equal(kernel_mount("sdb1", true), 0);
        second(u);
}

/* What happens when the new driver is tried: the disk does not pass. */
#define AT(operation, number, happens)                                                             \
        {                                                                                          \
                .op = operation, .nth = number, .what = happens, .error = EIO,                     \
                .on = happens == HOOK_FAIL                                                         \
        }
#define FAILS AT("trial", 1, HOOK_FAIL_DONE)
#define ONCE(number)                                                                               \
        {                                                                                          \
                .op = "open sda", .nth = number, .what = HOOK_FAIL, .error = EIO                   \
        }

static const struct {
        const char *what;
        struct scene s;
        int code;
        const char *step, *text; /* text: its end */
        enum driver driver;
        unsigned seconds; /* at most; neither a flush nor an open of an offline LUN is waited for */
        unsigned kept;    /* number of LUNs whose bytes are all on the platter */
} table[] = {
        /* clang-format off */
        {"off uas", {UAS, BOT, .partitions = 1, .prepare = first}, UASD_EXIT_OK, "release", "", BOT, 2, 0},
        {"the first of two", {UAS, BOT, .luns = 2, .partitions = 1, .prepare = first}, UASD_EXIT_OK, "release", "", BOT, 2, 1},
        {"the second of two", {UAS, BOT, .luns = 2, .partitions = 1, .prepare = second}, UASD_EXIT_OK, "release", "", BOT, 2, 1},
        {"the same, counted", {UAS, BOT, .luns = 2, .partitions = 1, .counts = true, .prepare = second}, UASD_EXIT_OK, "release", "", BOT, 2, 1},
        {"to uas", {BOT, UAS, .partitions = 1, .prepare = first}, UASD_EXIT_FAILED, "claim", "cannot open sda: No such device or address", BOT, 2, 0},
        {"mounted", {UAS, BOT, .partitions = 1, .prepare = first_is_mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sda1 at /mnt/sda1", UAS, 2, 0},
        {"the second of two is mounted", {UAS, BOT, .luns = 2, .partitions = 1, .prepare = second_is_mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sdb1 at /mnt/sdb1", UAS, 2, 0},
        {"open", {UAS, BOT, .prepare = first, .hooks = {{.op = "lock", .nth = 1, .what = HOOK_OPEN}}}, UASD_EXIT_DEFERRED, "claim", "END 0 a b", UAS, 2, 0},
        {"on the way back", {BOT, UAS, .partitions = 1, .hooks = {AT("trial", 1, HOOK_OFFLINE), FAILS}}, UASD_EXIT_ROLLED_BACK, "verify", "reads at full depth fail: Input/output error", BOT, 3, 1},
        {"on the way back, the first of two", {BOT, UAS, .luns = 2, .partitions = 1, .hooks = {AT("trial", 1, HOOK_OFFLINE), FAILS}}, UASD_EXIT_ROLLED_BACK, "verify", "reads at full depth fail: Input/output error", BOT, 3, 2},
        {"on the way back, in use", {BOT, UAS, .partitions = 1, .hooks = {AT("trial", 1, HOOK_MOUNT_PRIVATE), AT("trial", 1, HOOK_OFFLINE), FAILS}}, UASD_EXIT_FAILED, "verify", "it is in use already, and stays", UAS, 7, 1},
        {"on the way back, and its users cannot be found", {BOT, UAS, .hooks = {AT("trial", 1, HOOK_OFFLINE), FAILS, AT("users deep", 4, HOOK_FAIL)}}, UASD_EXIT_FAILED, "verify", "whether it is in use cannot be found out, so it stays", UAS, 7, 1},
        {"not offline, but not to be opened on the way back", {BOT, UAS, .hooks = {FAILS, AT("open sda", 4, HOOK_FAIL)}}, UASD_EXIT_FAILED, "verify", "whether it is in use cannot be found out, so it stays", UAS, 7, 1},
        {"the same of the second of two", {BOT, UAS, .luns = 2, .hooks = {FAILS, AT("open sdb", 4, HOOK_FAIL)}}, UASD_EXIT_FAILED, "verify", "whether it is in use cannot be found out, so it stays", UAS, 7, 2},
        {"not to be opened twice on the way back", {BOT, UAS, .hooks = {FAILS, ONCE(4), ONCE(5)}}, UASD_EXIT_ROLLED_BACK, "verify", "reads at full depth fail: Input/output error", BOT, 7, 1},
        {"not to be opened three times on the way back", {BOT, UAS, .hooks = {FAILS, ONCE(4), ONCE(5), ONCE(6)}}, UASD_EXIT_FAILED, "verify", "whether it is in use cannot be found out, so it stays", UAS, 7, 1},
        {"not offline, but not to be opened under uas", {BOT, UAS, .hooks = {{.op = "open sda", .nth = 3, .what = HOOK_FAIL, .error = ENXIO, .on = true}}}, UASD_EXIT_FAILED, "verify", "the disk cannot be opened: No such device or address; whether it is in use cannot be found out, so it stays", UAS, 7, 1},
        {"ejected", {.from = UAS, .eject = true, .partitions = 1, .prepare = first}, UASD_EXIT_OK, "remove", "ejected", UAS, 2, 0},
        {"the second of two, ejected", {.from = UAS, .eject = true, .luns = 2, .partitions = 1, .prepare = second}, UASD_EXIT_OK, "remove", "ejected", UAS, 2, 1},
        {"mounted, not ejected", {.from = UAS, .eject = true, .partitions = 1, .prepare = first_is_mounted}, UASD_EXIT_DEFERRED, "claim", "in use: mount of sda1 at /mnt/sda1", UAS, 2, 0},
        /* clang-format on */
};

static bool ends_with(const char *text, const char *end)
{
        size_t n = strlen(text), m = strlen(end);

        return n >= m && streq(text + n - m, end);
}

static void test_offline(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const struct scene *s = &table[i].s;
                const struct fake_usb *u;
                struct result r;
                unsigned kept = 0;
                const char *wrong;
                uint64_t began, usec;

                scene_make(s);
                u = &fake->usb[0];
                began = fake->clock;
                scene_switch(s, &r);
                usec = fake->clock - began;
                wrong = usec > table[i].seconds * USEC_PER_SEC ? "it took too long"
                                                               : scene_wrong(s);
                if (!wrong && !fake->someone && (fake_claims("sda") || fake_claims("sdb")))
                        wrong = "it is still claimed";
                for (unsigned l = 0; l < u->n_luns; l++)
                        kept += u->luns[l].platter == 4096 * (s->partitions + 1);
                if (wrong || r.code != table[i].code || !streq(r.step, table[i].step) ||
                    !ends_with(r.text, table[i].text) ||
                    (u->plugged ? u->driver != table[i].driver : !u->removed) ||
                    kept != table[i].kept) {
                        print_error("%s: %s; on %s, %u kept, %u ms, code %i at %s: %s\n",
                                    table[i].what, wrong ? wrong : "-", driver_to_string(u->driver),
                                    kept, (unsigned) (usec / USEC_PER_MSEC), r.code, r.step,
                                    r.text);
                        scene_print_ops();
                        all = false;
                }
                scene_remove();
        }
        assert_true(all);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_offline)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
