/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "samples.h"

#include "client/client.h"
#include "client/local.h"

/* --dry-run: the exit status that the switch would have. */

static enum uasd_exit code(const struct view *v, enum driver target, bool force)
{
        struct plan p;

        plan_switch(v, target, force, &p);
        return p.code;
}

static void free_disk(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_OK);
        assert_int_equal(code(&v, DRIVER_USB_STORAGE, false), UASD_EXIT_OK);
        assert_int_equal(code(&v, DRIVER_NONE, false), UASD_EXIT_OK);
}

static void busy_disk(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        sample_user(&v, USER_MOUNT, "sdb1", "/mnt");
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_DEFERRED);
        assert_int_equal(code(&v, DRIVER_USB_STORAGE, false),
                         UASD_EXIT_OK); /* it is there already */
}

static void unknown_users(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        v.users_error = -EACCES;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_DEFERRED);
}

static void incapable_disk(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        v.disk.facts.caps.uas = v.disk.facts.caps.pipes = false;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_INCAPABLE);
        assert_int_equal(code(&v, DRIVER_UAS, true), UASD_EXIT_INCAPABLE);
        assert_int_equal(code(&v, DRIVER_USB_STORAGE, false), UASD_EXIT_OK);
}

/* A Seagate disk that the kernel keeps off UAS. */
static void against_the_kernel(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        struct plan p;

        v.disk.facts.vid = 0x0984;
        v.disk.facts.pid = 0x0301;
        v.disk.facts.bcd = 0x0128;
        plan_switch(&v, DRIVER_UAS, false, &p);
        assert_int_equal(p.code, UASD_EXIT_REFUSED);
        assert_int_equal(p.decision.reason, REASON_FORCE_NEEDED);
        plan_switch(&v, DRIVER_UAS, true, &p);
        assert_int_equal(p.code, UASD_EXIT_OK);
        assert_int_equal(strncmp(p.quirk, "0984:0301:", 10), 0);
        assert_null(strchr(p.quirk + 10, 'u'));
}

static void another_drivers(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        v.disk.facts.driver = DRIVER_OTHER;
        (void) copy_string(v.disk.facts.driver_name, sizeof(v.disk.facts.driver_name), "usbfs");
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_REFUSED);
}

/* The same result as from uasd-switch. */
static void no_module(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        v.disk.facts.uas_kept_away = true;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_FAILED);
        v.disk.facts.driver = DRIVER_UAS;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_OK);
}

/* Bad by the database: refused. Bad by its own history: permitted, because the user knows. */
static void bad_bridge(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");

        v.disk.facts.verdict = VERDICT_BAD;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_REFUSED);
        assert_int_equal(code(&v, DRIVER_UAS, true), UASD_EXIT_OK);
        v.disk.facts.verdict_by_past = true;
        assert_int_equal(code(&v, DRIVER_UAS, false), UASD_EXIT_OK);
}

/* A switch from uas to usb-storage needs an entry in the quirks. */
static void quirk(void **state)
{
        _cleanup_(view_done) struct view v = sample_view("2-1:1.0", "sdb", "S1");
        struct plan p;

        v.disk.facts.driver = DRIVER_UAS;
        plan_switch(&v, DRIVER_USB_STORAGE, false, &p);
        assert_int_equal(p.code, UASD_EXIT_OK);
        assert_string_equal(p.quirk, "1209:5a5a:u");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(free_disk),
                cmocka_unit_test(busy_disk),
                cmocka_unit_test(unknown_users),
                cmocka_unit_test(incapable_disk),
                cmocka_unit_test(against_the_kernel),
                cmocka_unit_test(another_drivers),
                cmocka_unit_test(no_module),
                cmocka_unit_test(bad_bridge),
                cmocka_unit_test(quirk),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
