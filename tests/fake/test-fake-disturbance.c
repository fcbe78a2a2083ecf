/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

/* After every operation a user pulls the disk out, or a process mounts it, opens it or writes to
 * it. */

static void loses_a_lun(struct fake_usb *u)
{
        u->missing_on_uas = 2;
        fake->haste = true;
}

static void stalls(struct fake_usb *u)
{
        u->stalls_on_uas = true;
}

static const struct scene scenes[] = {
        /* clang-format off */
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .quirks = "1:2:u,1209:5a5a:fu",
         .counts = true},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .luns = 2, .partitions = 1},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .luns = 2, .partitions = 1, .prepare = loses_a_lun},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .prepare = stalls},
        {.from = DRIVER_UAS, .to = DRIVER_USB_STORAGE, .partitions = 1, .automatic = true, .held = true},
        {.from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .vendor = true, .plugged = true, .unscanned = true},
        /* clang-format on */
};

static bool still_mounted(void)
{
        const struct fake_usb *u = &fake->usb[0];

        for (unsigned l = 0; l < u->n_luns; l++)
                for (unsigned i = 0; u->luns[l].there && i < u->luns[l].n_nodes; i++)
                        if (u->luns[l].nodes[i].mounted)
                                return true;
        return false;
}

static const char *ask(const struct scene *s, enum fake_what what, int code)
{
        const struct fake_usb *u = &fake->usb[0];

        if (what == HOOK_REPLUG && u->touched)
                return "it touched the other disk";
        if (what == HOOK_UNPLUG || what == HOOK_REPLUG)
                return NULL; /* the switch does not answer for a disk that the user took */
        if ((what == HOOK_MOUNT || what == HOOK_MOUNT_PRIVATE) && fake->opened_at &&
            !still_mounted())
                return "the mount is gone";
        if (fake->refused && fake->refused_on == s->to && code == UASD_EXIT_OK)
                return "a mount failed, though the disk had arrived";
        /* It failed and is in use, so it must not be rolled back. */
        if (code == UASD_EXIT_FAILED && u->driver == s->to && fake->opened_at)
                return NULL;
        return sweep_code(s, code);
}

/* Each hook where it can matter. A switch that fails by itself matters when the disk is used on its
 * new driver. */
static bool interesting(const struct scene *s, const struct clean *c, unsigned n,
                        enum fake_what what)
{
        bool bound = false;

        for (unsigned i = 0; i < n; i++)
                bound = bound || strncmp(c->ops[i], "bind", 4) == 0;
        if (sweep_again(c, n) || (s->prepare && !bound))
                return false;
        if (what == HOOK_SHUTDOWN)
                return s->automatic;
        if (what == HOOK_UNPLUG || what == HOOK_REPLUG)
                return !s->prepare;
        return what == HOOK_GLANCE || what == HOOK_OPEN_SG || what == HOOK_MOUNT_PRIVATE
                       ? s->counts || s->prepare
                       : !s->automatic;
}

static void test_disturbed(void **state)
{
        static const struct {
                enum fake_what what;
                const char *name;
        } people[] = {
                {HOOK_UNPLUG, "pulled out"},    {HOOK_REPLUG, "replaced"},
                {HOOK_MOUNT, "mounted"},        {HOOK_MOUNT_PRIVATE, "mounted out of sight"},
                {HOOK_OPEN, "opened"},          {HOOK_GLANCE, "glanced at"},
                {HOOK_OPEN_SG, "opened as sg"}, {HOOK_WRITE, "written to"},
                {HOOK_SHUTDOWN, "shut down"},
        };
        bool all = true;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++)
                        for (size_t p = 0; p < ELEMENTSOF(people); p++)
                                if (interesting(&scenes[i], &c, n, people[p].what) &&
                                    !sweep_one(&scenes[i], &c, n, people[p].what, people[p].name,
                                               ask))
                                        all = false;
        }
        assert_true(all);
}

static void garbles(struct fake_usb *u)
{
        u->garbles_on_uas = true;
}

/* A write to the disk after it appeared does not make it another disk. The switch succeeds. */
static void test_written_when_it_arrived(void **state)
{
        struct scene s = {
                .from = DRIVER_USB_STORAGE, .to = DRIVER_UAS, .partitions = 1, .prepare = garbles};
        struct clean c;
        unsigned kept = 0;

        sweep_clean(&s, &c);
        for (unsigned n = 1; n <= c.n; n++) {
                struct scene now = s;
                struct result r;

                if (!c.of_child[n - 1])
                        continue;
                now.hooks[0] = (struct fake_hook){.nth = n, .what = HOOK_WRITE};
                scene_make(&now);
                scene_switch(&now, &r);
                kept += r.code == UASD_EXIT_OK && fake->usb[0].driver == DRIVER_UAS;
                scene_remove();
        }
        assert_int_not_equal(kept, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_disturbed),
                                           cmocka_unit_test(test_written_when_it_arrived)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
