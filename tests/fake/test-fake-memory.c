/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../memory.h"
#include "sweep.h"

#include <sys/param.h>

#include "core/history.h"

/* Out of memory at every allocation of uasd-switch and of its children: once, and from there on. */

#define BOT DRIVER_USB_STORAGE
#define UAS DRIVER_UAS
#define TIMES 1 /* allocations with the same callers */

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static void shrinks(struct fake_usb *u)
{
        u->shrinks_on_uas = true;
}

static void loses_a_lun(struct fake_usb *u)
{
        u->missing_on_uas = 2;
        fake->haste = true;
}

static const struct {
        const char *what;
        struct scene s;
        bool sick; /* the disk itself fails under uas */
} table[] = {
        {"to uas",
         {BOT, UAS, .luns = 2, .partitions = 1, .quirks = "1:2:u,1209:5a5a:fu", .counts = true},
         false},
        {"to usb-storage", {UAS, BOT, .luns = 2, .partitions = 1, .quirks = "1:2:u"}, false},
        {"under a hold", {BOT, UAS, .partitions = 1, .automatic = true, .held = true}, false},
        {"not scanned yet",
         {BOT, UAS, .plugged = true, .unscanned = true, .unloaded = true},
         false},
        {"without a driver", {DRIVER_NONE, UAS, .partitions = 1}, false},
        {"rolled back: it stalls", {BOT, UAS, .partitions = 1, .prepare = stalls}, true},
        {"rolled back: another size",
         {BOT, UAS, .luns = 2, .partitions = 1, .prepare = shrinks},
         true},
        {"rolled back: a LUN is missing",
         {BOT, UAS, .luns = 2, .partitions = 1, .prepare = loses_a_lun},
         true},
        {"eject", {BOT, BOT, .luns = 2, .partitions = 1, .eject = true}, false},
};

/* Plays one scene. Returns the number of allocations, or 0 if something is wrong. */
static unsigned play(size_t i, unsigned nth, bool lasting)
{
        const struct scene *s = &table[i].s;
        const char *wrong = NULL;
        struct result r = {};
        unsigned asked;

        scene_make(s);
        memory_begins(nth, lasting);
        scene_switch(s, &r);
        asked = memory_ends();
        if (!table[i].sick && scene_recorded(NULL) == HISTORY_DISTRUSTED)
                wrong = "the bridge is blamed";
        if (tree_exists("run/uasd/switch/2-1:1.0")) /* as the next start of uasd does */
                assert_int_equal(scene_recover(s), 0);
        /* No fault: it has no driver as before, or it stays on uas because its users are not known.
         */
        if (s->from == DRIVER_NONE && !fake->usb[0].touched)
                fake->usb[0].plugged = false;
        if (fake->usb[0].missing_on_uas && fake->usb[0].driver == UAS)
                fake->usb[0].n_luns = fake->usb[0].missing_on_uas - 1;
        wrong = wrong ?: scene_wrong(s);
        if (wrong)
                print_error("%s, no memory %s %u of %u: %s (code %i at %s: %s)\n", table[i].what,
                            lasting ? "from" : "at", nth, asked, wrong, r.code, r.step, r.text);
        scene_remove();
        return wrong ? 0 : asked;
}

static void test_memory(void **state)
{
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                unsigned asked = play(i, 0, false), *nths = memory_paths(TIMES), n = 0;

                for (; nths[n]; n++)
                        for (int lasting = 0; lasting < 2; lasting++)
                                all = play(i, nths[n], lasting) && all;
                print_message("%s: %u of %u allocations\n", table[i].what, n, asked);
                all = all && n > 10;
                free(nths);
        }
        assert_true(all);
}

/* It was killed on the way back, and its recovery cannot read the disk. So it leaves the record,
 * and the next one knows that uas has failed. */
static void test_recovery(void **state)
{
        const struct scene s = {BOT, UAS, .partitions = 1, .prepare = stalls,
                                .hooks = {{.op = "bind usb-storage", .nth = 1, .what = HOOK_KILL}}};
        unsigned again = 0, asked = 0;

        for (unsigned nth = 0; nth <= asked; nth++) {
                struct result r = {};
                unsigned n;
                int failed;

                scene_make(&s);
                scene_switch_in_child(&s, &r);
                memset(fake->hooks, 0, sizeof(fake->hooks));
                memory_begins(nth, false);
                failed = scene_recover(&s);
                n = memory_ends();
                asked = MAX(asked, n);
                assert_int_equal(failed < 0, tree_exists("run/uasd/switch/2-1:1.0"));
                if (failed < 0) {
                        again++;
                        assert_int_equal(scene_recover(&s), 0);
                        assert_int_equal(scene_recorded(NULL), HISTORY_DISTRUSTED);
                }
                assert_null(scene_wrong(&s));
                scene_remove();
        }
        assert_true(again > 0 && asked > again);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory),
                                           cmocka_unit_test(test_recovery)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
