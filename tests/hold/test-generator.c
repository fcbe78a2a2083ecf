/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a boot may hold disks, and for how long. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../sys/tree.h"
#include "common/util.h"
#include "hold/allowed.h"

static void test_enabled(void **state)
{
        static const struct {
                const char *name, *file, *text, *link, *target;
                bool enabled;
        } rows[] = {
                {"as installed", NULL, NULL, NULL, NULL, true},
                {"masked", NULL, NULL, "etc/systemd/system/uasd.service", "/dev/null", false},
                {"masked with --runtime", NULL, NULL, "run/systemd/system/uasd.service",
                 "/dev/null", false},
                {"masked by an empty file", "etc/systemd/system/uasd.service", "", NULL, NULL,
                 false},
                {"a unit of the admin's", "etc/systemd/system/uasd.service", "[Service]\n", NULL,
                 NULL, true},
                {"masked on the command line", "proc/cmdline", "quiet systemd.mask=uasd.service\n",
                 NULL, NULL, false},
                {"masked by its short name", "proc/cmdline", "systemd.mask=uasd quiet\n", NULL,
                 NULL, false},
                {"the link says no", NULL, NULL,
                 "etc/systemd/system/sysinit.target.wants/uasd.service", "/dev/null", false},
        };
        static const char *const wanted[] = {
                "etc/systemd/system/x.target.requires/uasd.service",
                "run/systemd/system/x.target.wants/uasd.service",
                "usr/lib/systemd/system/multi-user.target.wants/uasd.service",
        };
        static const char wants[] = "etc/systemd/system/sysinit.target.wants/uasd.service";
        struct tree t;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                tree_make(&t);
                tree_link(&t, wants, "/usr/lib/systemd/system/uasd.service");
                if (rows[i].file)
                        tree_write(&t, rows[i].file, rows[i].text);
                if (rows[i].link)
                        tree_link(&t, rows[i].link, rows[i].target);
                if (service_enabled(&t.roots) != rows[i].enabled)
                        fail_msg("%s", rows[i].name);
                tree_remove(&t);
        }

        for (size_t i = 0; i < ELEMENTSOF(wanted); i++) {
                tree_make(&t);
                tree_link(&t, "etc/systemd/system/x.target.d/uasd.service", "../uasd.service");
                assert_false(service_enabled(&t.roots));
                tree_link(&t, wanted[i], "../uasd.service");
                if (!service_enabled(&t.roots))
                        fail_msg("%s", wanted[i]);
                tree_remove(&t);
        }
}

#define SECONDS_30 "1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s"

static void test_timeouts(void **state)
{
        static const struct {
                const char *file, *text;
                int expect; /* seconds, or a negative errno */
        } rows[] = {
                {"etc/fstab", "", 90},
                {"etc/fstab", "LABEL=x /mnt ext4 nofail,x-systemd.device-timeout=12s 0 2\n", 12},
                {"etc/fstab", "LABEL=x\t/mnt ext4 x-systemd.device-timeout=1min30s,ro\n", 90},
                {"etc/fstab", "LABEL=x /mnt ext4 x-systemd.device-timeout=300 0 0\n", 90},
                {"etc/fstab",
                 "A /a ext4 x-systemd.device-timeout=40\nB none swap sw,x-systemd.device-timeout=7\n",
                 7},
                {"etc/fstab",
                 "A /a ext4 x-systemd.device-timeout=infinity\nB /b ext4 x-systemd.device-timeout=0\n",
                 90},
                {"etc/fstab", "# A /a ext4 x-systemd.device-timeout=3\n", 90},
                {"etc/fstab", "\nA /a ext4 x-systemd.device-timeout=41\n", 41},
                {"etc/fstab", " \tA  /a\t \text4 x-systemd.device-timeout=43\n", 43},
                {"etc/fstab", " \t# /a ext4 x-systemd.device-timeout=3\n", 90},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=,ro\n", 90},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout='42'\n", 42},
                {"etc/fstab", "A /x-systemd.device-timeout=3 ext4 defaults 0 0\nA\n\nA /b\n", 90},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=soon\n", -EBADMSG},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=-1\n", -EBADMSG},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=0s\n", 90},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=1us\n", 0},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=" SECONDS_30 "1s1\n", 32},
                {"etc/fstab", "A /a ext4 x-systemd.device-timeout=" SECONDS_30 "1s1s\n",
                 -EBADMSG}, /* longer than any time */
                {"etc/crypttab", "luks UUID=x none luks,x-systemd.device-timeout=30s\n", 30},
                {"etc/crypttab", "luks UUID=x /key:UUID=y luks,keyfile-timeout=10s,discard\n", 10},
                {"etc/crypttab",
                 "luks UUID=x /key:UUID=y keyfile-timeout=31s,x-systemd.device-timeout=29s\n", 29},
                {"etc/crypttab", "luks UUID=x /key:UUID=y keyfile-timeout=soon\n", -EBADMSG},
                {"proc/cmdline", "luks.options=keyfile-timeout=26,discard\n", 26},
                {"proc/cmdline", "luks.options=x-systemd.device-timeout=28,keyfile-timeout=27s\n",
                 27},
                {"etc/systemd/system.conf",
                 "[Manager]\n#DefaultTimeoutStartSec=5\nDefaultTimeoutStartSec=50\n", 50},
                {"etc/systemd/system.conf.d/x.conf", "[Manager]\nDefaultDeviceTimeoutSec=1min\n",
                 60},
                {"usr/lib/systemd/system.conf.d/x.conf",
                 "[Manager]\nDefaultDeviceTimeoutSec=infinity\n", 90},
                {"etc/systemd/system.conf", "[Manager]\n \tDefaultDeviceTimeoutSec=44\n", 44},
                {"etc/systemd/system.conf", "[Manager]\nDefaultDeviceTimeoutSecs=5\n", 90},
                {"etc/systemd/system.conf", "[Manager]\nJobRunningTimeoutSec=5\n", 90},
                {"etc/systemd/system/dev-sda1.device", "[Unit]\nDefaultDeviceTimeoutSec=5\n", 90},
                {"proc/cmdline", "rootflags=\"x-systemd.device-timeout=\" root=\"x\"\n", 90},
                {"proc/cmdline", "quiet systemd.default_device_timeout_sec=15 ro\n", 15},
                {"proc/cmdline", "quiet systemd.default_device_timeout_sec=\"24\" ro\n", 24},
                {"run/systemd/system.conf.d/x.conf", "[Manager]\nDefaultDeviceTimeoutSec = 20\n",
                 20},
                {"etc/systemd/system/dev-sda1.device.d/x.conf", "[Unit]\nJobRunningTimeoutSec=11\n",
                 11},
                {"etc/systemd/system/dev-sda1.device.d/x.conf",
                 "[Unit]\nJobTimeoutSec=13s\nJobTimeoutAction=none\n", 13},
                {"etc/systemd/system/dev-sda1.device.d/x.conf",
                 "[Unit]\nJobRunningTimeoutSec=infinity\n#JobTimeoutSec=3\n", 90},
                {"etc/systemd/system/dev-sda1.device.d/x.conf",
                 "[Unit]\nJobRunningTimeoutSec=soon\n", -EBADMSG},
                {"run/systemd/system/dev-.device.d/x.conf", "[Unit]\nJobRunningTimeoutSec = 14\n",
                 14},
                {"usr/lib/systemd/system/device.d/x.conf", "[Unit]\nJobRunningTimeoutSec=16\n", 16},
                {"etc/systemd/system/dev-sda1.device", "[Unit]\nJobRunningTimeoutSec=17\n", 17},
                {"etc/systemd/system/x.service", "[Unit]\nJobRunningTimeoutSec=5\n", 90},
                {"etc/systemd/system/x.service.d/x.conf", "[Unit]\nJobRunningTimeoutSec=5\n", 90},
                {"run/credentials/@system/fstab.extra",
                 "LABEL=x /mnt ext4 x-systemd.device-timeout=18\n", 18},
                {"proc/cmdline",
                 "systemd.mount-extra=LABEL=x:/mnt:ext4:ro,x-systemd.device-timeout=19 ro\n", 19},
                {"proc/cmdline",
                 "systemd.mount-extra=\"LABEL=x:/mnt:ext4:x-systemd.device-timeout=21\" ro\n", 21},
                {"proc/cmdline", "luks.options=1d2c=x-systemd.device-timeout=22s,discard\n", 22},
                {"proc/cmdline", "systemd.swap-extra=LABEL=s:x-systemd.device-timeout=23\n", 23},
                {"proc/cmdline", "rootflags=ro,x-systemd.device-timeout=infinity quiet\n", 90},
                {"proc/cmdline", "rootflags=x-systemd.device-timeout=x quiet\n", -EBADMSG},
                {"proc/cmdline",
                 "rootflags=x-systemd.device-timeout=34 "
                 "systemd.mount-extra=LABEL=x:/mnt:ext4:x-systemd.device-timeout=33\n",
                 33},
                {"proc/cmdline",
                 "systemd.default_device_timeout_sec=36 systemd.default_timeout_start_sec=35\n",
                 35},
                {"proc/cmdline", "systemd.default_device_timeout_sec=soon\n", -EBADMSG},
                {"etc/systemd/system.conf", "[Manager]\nDefaultDeviceTimeoutSec=soon\n", -EBADMSG},
                {"etc/systemd/system.conf.d/x.conf", "[Manager]\nDefaultDeviceTimeoutSec=soon\n",
                 -EBADMSG},
                {"run/credentials/@system/fstab.extra",
                 "LABEL=x /mnt ext4 x-systemd.device-timeout=soon\n", -EBADMSG},
                {"etc/systemd/system/dev-sda1.device", "[Unit]\nJobTimeoutSec=soon\n", -EBADMSG},
                {"etc/systemd/system/dev-sda1.device", "[Unit]\nJobTimeoutSec=37\n", 37},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t v = 0;
                struct tree t;
                int r;

                tree_make(&t);
                tree_write(&t, rows[i].file, rows[i].text);
                r = smallest_device_timeout(&t.roots, &v);
                if ((r < 0 ? r : (int) (v / USEC_PER_SEC)) != rows[i].expect)
                        fail_msg("%s: %s: %i, %llu", rows[i].file, rows[i].text, r,
                                 (unsigned long long) v);
                tree_remove(&t);
        }
}

/* Each file of a folder counts, and so does each folder. The first and the last name have the limit
 * in turn. */
static void test_timeouts_of_several(void **state)
{
        static const char *const pairs[][2] = {
                {"etc/systemd/system.conf.d/a.conf", "etc/systemd/system.conf.d/b.conf"},
                {"etc/systemd/system/a.device", "etc/systemd/system/b.device"},
                {"etc/systemd/system/a.device.d/a.conf", "etc/systemd/system/b.device.d/a.conf"},
                {"usr/lib/systemd/system/a.device", "etc/systemd/system/a.device"},
        };

        for (size_t i = 0; i < 2 * ELEMENTSOF(pairs); i++) {
                bool conf = i / 2 == 0;
                uint64_t v = 0;
                struct tree t;

                tree_make(&t);
                tree_write(&t, pairs[i / 2][i % 2],
                           conf ? "[Manager]\nDefaultDeviceTimeoutSec=43\n"
                                : "[Unit]\nJobTimeoutSec=43\n");
                tree_write(&t, pairs[i / 2][!(i % 2)], "[Unit]\n");
                assert_int_equal(smallest_device_timeout(&t.roots, &v), 0);
                if (v != 43 * USEC_PER_SEC)
                        fail_msg("%s beside %s", pairs[i / 2][i % 2], pairs[i / 2][!(i % 2)]);
                tree_remove(&t);
        }
}

/* A limit that cannot be read could be a short one. */
static void test_unreadable(void **state)
{
        static const struct {
                const char *path;
                int expect;
        } rows[] = {
                {"etc/fstab", -ELOOP},
                {"etc/crypttab", -ELOOP},
                {"run/credentials/@system/fstab.extra", -ELOOP},
                {"usr/lib/systemd/system.conf", -ELOOP},
                {"run/systemd/system.conf.d", -ELOOP},
                {"run/systemd/system.conf.d/x.conf", -ELOOP},
                {"etc/systemd/system", -ELOOP},
                {"etc/systemd/system/a.device", -ELOOP},
                {"etc/systemd/system/a.device.d", -ELOOP},
                {"etc/systemd/system/x.service", 0},
        };
        uint64_t v = 0;
        struct tree t;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                int r;

                tree_make(&t);
                tree_link(&t, rows[i].path, strrchr(rows[i].path, '/') + 1); /* to itself */
                r = smallest_device_timeout(&t.roots, &v);
                if (r != rows[i].expect)
                        fail_msg("%s: %i", rows[i].path, r);
                tree_remove(&t);
        }

        tree_make(&t);
        tree_write(&t, "etc/systemd/system.conf.d", "no folder");
        assert_int_equal(smallest_device_timeout(&t.roots, &v), 0);
        tree_unlink(&t, "proc/cmdline");
        assert_int_equal(smallest_device_timeout(&t.roots, &v), 0);
        assert_int_equal(v, 90 * USEC_PER_SEC);
        tree_remove(&t);
}

#define DROPIN "run/systemd/generator/uasd-release@.timer.d/50-hold.conf"

static void test_limits_read(void **state)
{
        static const struct {
                const char *text;
                int expect;
        } rows[] = {
                {"[Timer]\nOnActiveSec=\nOnActiveSec=4s\nX-DeviceTimeoutSec=9s\n", 0},
                {"[Timer]\nOnActiveSec=4s\nX-Other=soon\nX-DeviceTimeoutSec=9s\n", 0},
                {"[Timer]\nOnActiveSec=4s\n", -EBADMSG},
                {"[Timer]\nX-DeviceTimeoutSec=9s\n", -EBADMSG},
                {"[Timer]\nOnActiveSec=0\nX-DeviceTimeoutSec=9s\n", -EBADMSG},
        };
        struct hold_limits got;
        struct tree t;

        tree_make(&t);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                int r;

                tree_write(&t, DROPIN, rows[i].text);
                r = limits_read(&t.roots, &got);
                if (r != rows[i].expect)
                        fail_msg("%s: %i", rows[i].text, r);
        }
        tree_unlink(&t, DROPIN);
        tree_unlink(&t, "run/systemd/generator/uasd-hold");
        tree_write(&t, "run/systemd/generator/uasd-hold", ""); /* permission without limits */
        assert_int_equal(limits_read(&t.roots, &got), -ENOENT);
        tree_remove(&t);
}

static int symlink_error;

int __wrap_symlinkat(const char *target, int dirfd, const char *path);
int __real_symlinkat(const char *target, int dirfd, const char *path);
int __wrap_symlinkat(const char *target, int dirfd, const char *path)
{
        if (symlink_error == 0)
                return __real_symlinkat(target, dirfd, path);
        errno = symlink_error;
        return -1;
}

static void test_limits(void **state)
{
        const struct hold_limits l = {.hold = 4500 * USEC_PER_MSEC,
                                      .device_timeout = 9 * USEC_PER_SEC};
        struct hold_limits got;
        struct tree t;
        int dir, full;

        tree_make(&t);
        tree_unlink(&t, "run/systemd/generator/uasd-hold");
        tree_unlink(&t, DROPIN);
        assert_int_equal(limits_read(&t.roots, &got), -ENOENT);
        dir = openat(t.roots.run, "systemd/generator", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir >= 0);
        /* Without the link, which comes last, nothing is allowed. */
        symlink_error = ENOSPC;
        assert_int_equal(limits_write(dir, &l), -ENOSPC);
        assert_int_equal(limits_read(&t.roots, &got), -ENOENT);
        symlink_error = 0;
        tree_write(&t, "run/full/uasd-release@.timer.d", "no folder");
        full = openat(t.roots.run, "full", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(limits_write(full, &l), -ENOTDIR);
        assert_false(tree_exists(&t, "run/full/uasd-hold"));
        (void) close(full);
        for (int times = 0; times < 2; times++)
                assert_int_equal(limits_write(dir, &l), 0);
        assert_int_equal(limits_read(&t.roots, &got), 0);
        assert_int_equal(got.hold, l.hold);
        assert_int_equal(got.device_timeout, l.device_timeout);
        assert_string_equal(
                tree_read(&t, "run/systemd/generator/uasd-hold"),
                "[Timer]\nOnActiveSec=\nOnActiveSec=4500ms\nX-DeviceTimeoutSec=9000ms\n");
        (void) close(dir);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_enabled),
                cmocka_unit_test(test_timeouts),
                cmocka_unit_test(test_timeouts_of_several),
                cmocka_unit_test(test_unreadable),
                cmocka_unit_test(test_limits_read),
                cmocka_unit_test(test_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
