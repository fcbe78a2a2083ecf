/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sweep.h"

#include "core/history.h"

/* A bridge is distrusted only if it has failed itself: not because of an error of uasd-switch, of
 * its files or of this machine.
 */

static const struct scene scenes[] = {
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .partitions = 1,
         .quirks = "1:2:u,1209:5a5a:fu",
         .counts = true,
         .watched = true},
        {.from = DRIVER_USB_STORAGE,
         .to = DRIVER_UAS,
         .luns = 2,
         .partitions = 1,
         .automatic = true,
         .held = true,
         .watched = true},
};

/* Plays the scene. Returns true if the bridge is distrusted; ret: the record. */
static bool distrusted(const struct scene *s, struct result *ret_result, struct history *ret)
{
        int record;

        scene_make(s);
        scene_switch(s, ret_result);
        ret_result->driver = fake->usb[0].driver;
        record = scene_recorded(ret);
        assert_int_not_equal(record, -ENODEV);
        scene_remove();
        return record == HISTORY_DISTRUSTED;
}

/* Only the bind and the child that examines the new disk ask the bridge for something. */
static bool asks_bridge(const struct clean *c, unsigned n)
{
        return c->of_child[n - 1] || strncmp(c->ops[n - 1], "bind", 4) == 0;
}

static void test_errors(void **state)
{
        static const int ours[] = {EACCES, EBUSY, EMFILE, ENOENT, ENOMEM, ENOSPC, ENOSYS, EROFS};
        bool all = true, by_bind = false, by_child = false;

        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                struct clean c;

                sweep_clean(&scenes[i], &c);
                for (unsigned n = 1; n <= c.n; n++)
                        for (size_t e = 0; e <= ELEMENTSOF(ours) && !sweep_again(&c, n); e++) {
                                int error = e < ELEMENTSOF(ours) ? ours[e] : EIO;
                                struct scene s = scenes[i];
                                struct history h;
                                struct result r;

                                s.hooks[0] = (struct fake_hook){
                                        .nth = n, .what = HOOK_FAIL, .error = error};
                                if (!distrusted(&s, &r, &h))
                                        continue;
                                by_child = by_child || c.of_child[n - 1];
                                by_bind = by_bind || !c.of_child[n - 1];
                                if (error == EIO && asks_bridge(&c, n))
                                        continue;
                                print_error("%s at %u (%s): %s\n", strerrorname_np(error), n,
                                            c.ops[n - 1], h.reason);
                                all = false;
                        }
        }
        assert_true(all && by_bind && by_child);
}

/* Another program unloads the module: before the bind, and after it. */
static void test_unloaded(void **state)
{
        static const char *const after[] = {"unbind usb-storage", "bind uas", "wait"};

        for (size_t i = 0; i < ELEMENTSOF(after); i++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                s.hooks[0] = (struct fake_hook){.op = after[i], .nth = 1, .what = HOOK_UNLOAD};
                assert_false(distrusted(&s, &r, &h));
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(r.driver, DRIVER_USB_STORAGE);
        }
}

/* Another program binds it to uas at the same moment. */
static void test_bound_by_another(void **state)
{
        struct scene s = scenes[0];
        struct history h;
        struct result r;

        s.hooks[0] = (struct fake_hook){
                .op = "bind uas", .nth = 1, .what = HOOK_FAIL_DONE, .error = EBUSY};
        assert_false(distrusted(&s, &r, &h));
        assert_int_equal(r.code, UASD_EXIT_OK);
        assert_int_equal(r.driver, DRIVER_UAS);
}

static const char *kernels_log;
static int log_age; /* seconds */

static void logs(struct fake_usb *u)
{
        char record[256];

        kernel_pass(100 * USEC_PER_SEC);
        (void) snprintf(record, sizeof(record), "4,7,%llu,-;%s\n",
                        (unsigned long long) (fake->clock - (uint64_t) log_age * USEC_PER_SEC),
                        kernels_log);
        tree_write(record, "dev/kmsg");
}

/* An administrator writes the quirks parameter just before the bind, so that uas declines the disk.
 */
static void test_quirks(void **state)
{
        static const char *const quirks[] = {
                NULL, "1209:5a5a:fu"}; /* uasd-switch adds an entry only to the second */

        for (size_t i = 0; i < ELEMENTSOF(quirks); i++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                s.quirks = quirks[i];
                s.hooks[0] = (struct fake_hook){.op = "bind uas", .nth = 1, .what = HOOK_QUIRKS};
                assert_false(distrusted(&s, &r, &h));
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(r.driver, DRIVER_USB_STORAGE);
        }
}

#define RESET                                                                                      \
        "usb 2-1: reset high-speed USB device number 5 using xhci_hcd\n SUBSYSTEM=usb\n DEVICE=c189:132\n"

/* The clock of the kernel's log is not that of uasd-switch: after weeks they differ by minutes. */
static void resets_late(struct fake_usb *u)
{
        kernel_pass(1000 * USEC_PER_SEC);
        tree_write("", "dev/kmsg");
        u->says = "4,7,1000,-;" RESET;
}

/* The host number that the disk had before is that of another disk by now. */
static void another_is_reset(struct fake_usb *u)
{
        resets_late(u);
        u->says =
                "4,7,1000,-;scsi host0: uas_eh_device_reset_handler start\n SUBSYSTEM=scsi\n DEVICE=+scsi:host0\n";
}

/* An administrator unbinds it. The kernel does so only after a reset that it has reported since the
 * switch began. */
static void test_unbound(void **state)
{
        static const struct {
                const char *op;
                unsigned nth;
                const char *log; /* from before the switch */
                void (*prepare)(struct fake_usb *u);
                const char *said;
        } table[] = {
                {"wait", 1, "", logs, "; another program has taken it off uas"},
                {"fingerprint", 2, "", logs, "; another program has taken it off uas"},
                {"wait", 1, RESET, logs, "; another program has taken it off uas"},
                {"wait", 1, NULL, resets_late, ""},
                {"wait", 1, NULL, another_is_reset, "; another program has taken it off uas"},
                {"wait", 1, NULL, NULL, ""}, /* the log cannot be read */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                kernels_log = table[i].log;
                log_age = 1;
                s.prepare = table[i].prepare;
                s.hooks[0] = (struct fake_hook){
                        .op = table[i].op, .nth = table[i].nth, .what = HOOK_UNBIND};
                assert_int_equal(distrusted(&s, &r, &h), !table[i].said[0]);
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(r.driver, DRIVER_USB_STORAGE);
                assert_string_equal(strchr(r.text, '\0') - strlen(table[i].said), table[i].said);
        }
}

#define MEDIUM "\n SUBSYSTEM=scsi\n DEVICE=+scsi:0:0:0:0"

/* The machine has slept, or the kernel has reported that its power or its controller failed. */
static void test_machine(void **state)
{
        static const struct {
                const char *log;
                int age, slept; /* seconds */
                const char *said;
                bool distrusted;
        } table[] = {
                {"hwmon hwmon1: Undervoltage detected!", 1, 0,
                 "; the machine's voltage was too low", false},
                {"hwmon hwmon1: Undervoltage detected!", 59, 0,
                 "; the machine's voltage was too low", false},
                {"hwmon hwmon1: Undervoltage detected!", 62, 0, "", true},
                {"usb usb2-port1: over-current change #1", 1, 0, "; over-current at its port",
                 false},
                {"usb usb2-port2: over-current change #1", 1, 0, "", true},
                {"sd 0:0:0:0: [sda] tag#1 Sense Key : Medium Error [current] " MEDIUM, 1, 0, "",
                 true}, /* usb-storage reads it well */
                {"usb usb2-port1: Cannot enable. Maybe the USB cable is bad?", 1, 0, "", true},
                {"", 0, 2, "; the machine slept meanwhile", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct scene s = scenes[0];
                struct history h;
                struct result r;

                kernels_log = table[i].log;
                log_age = table[i].age;
                s.prepare = logs;
                s.hooks[0] = (struct fake_hook){
                        .op = "trial", .nth = 1, .what = HOOK_FAIL, .error = EIO};
                if (table[i].slept)
                        s.hooks[1] = (struct fake_hook){.op = "fingerprint",
                                                        .nth = 2,
                                                        .what = HOOK_SLEEP,
                                                        .error = table[i].slept};
                assert_int_equal(distrusted(&s, &r, &h), table[i].distrusted);
                assert_int_equal(r.code, UASD_EXIT_ROLLED_BACK);
                assert_int_equal(r.driver, DRIVER_USB_STORAGE);
                assert_string_equal(strchr(r.text, '\0') - strlen(table[i].said), table[i].said);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_errors),           cmocka_unit_test(test_unloaded),
                cmocka_unit_test(test_bound_by_another), cmocka_unit_test(test_machine),
                cmocka_unit_test(test_unbound),          cmocka_unit_test(test_quirks)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
