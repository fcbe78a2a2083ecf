/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"

#include "unit.h"

static void test_users(void **state)
{
        static const struct {
                struct user user;
                bool stacked;
                const char *command;
        } table[] = {
                /* clang-format off */
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/usb"}, false, "umount /mnt/usb"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/a b"}, false, "umount '/mnt/a b'"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/it's;reboot"}, false, "umount '/mnt/it'\\''s;reboot'"},
                {{.kind = USER_MOUNT, .device = "sda1"}, false, ""},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 9}, false,
                 "nsenter --target 9 --mount umount /srv"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]"}, false, ""},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 1}, false,
                 "nsenter --target 1 --mount umount /srv"},
                {{.kind = USER_SWAP, .device = "sda2"}, false, "swapoff /dev/sda2"},
                {{.kind = USER_SWAP, .device = "sda2"}, true, "swapoff --all"},
                {{.kind = USER_LOOP, .device = "sda", .where = (char *) "loop0"}, false, "losetup --detach /dev/loop0"},
                {{.kind = USER_LOOP, .device = "sda"}, false, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .command = (char *) "dd"}, false, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "smartd.service"}, false, "systemctl stop smartd.service"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "user@1000.service"}, false, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "session-3.scope"}, false, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) ".service"}, false, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda"}, false, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .command = (char *) "(udev-worker)", .unit = (char *) "systemd-udevd.service"}, false, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 1, .command = (char *) "systemd"}, false, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 2}, false, "kill 2"},
                {{.kind = USER_CLAIM, .device = "sda", .where = (char *) "ZFS pool tank"}, false, "zpool export tank"},
                {{.kind = USER_CLAIM, .device = "sda", .pid = 7}, false, "kill 7"},
                {{.kind = USER_CLAIM, .device = "sda"}, false, ""},
                {{.kind = USER_HOLDER, .device = "sda", .where = (char *) "dm-0"}, false, ""},
                /* clang-format on */
        };
        char long_name[2000], ret[1200];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (!streq(freeing_command(&table[i].user, table[i].stacked, ret, sizeof(ret)), table[i].command))
                        fail_msg("row %zu: %s", i, ret);
        memset(long_name, '\'', sizeof(long_name));
        long_name[sizeof(long_name) - 1] = '\0';
        assert_string_equal(freeing_command(&(struct user){.kind = USER_MOUNT, .where = long_name}, false, ret, sizeof(ret)), "");
}

/* A word is quoted as a whole, or there is no command. */
static void test_long_words(void **state)
{
        size_t longest = 0;

        for (size_t n = 1; n < 1200; n++) {
                char where[1201] = "", ret[1400], quoted[1400];

                (void) memset(where, ' ', n);
                (void) snprintf(quoted, sizeof(quoted), "umount '%s'", where);
                (void) freeing_command(&(struct user){.kind = USER_MOUNT, .where = where}, false, ret, sizeof(ret));
                assert_true(*ret == '\0' || streq(ret, quoted));
                assert_true(!*ret || longest == n - 1);
                longest = *ret ? n : longest;
        }
        assert_int_equal(longest, 1021);
}

static void test_holders(void **state)
{
        static const struct {
                const char *name, *mapping, *uuid, *command;
        } table[] = {
                {"dm-0", "data-home", "LVM-abc", "vgchange -an data"},
                {"dm-0", "my--data-the--lv", "LVM-abc", "vgchange -an my-data"},
                {"dm-1", "backup", "CRYPT-LUKS2-0011-backup", "cryptsetup close backup"},
                {"dm-1", "root hash", "CRYPT-VERITY-0011", "veritysetup close 'root hash'"},
                {"dm-2", "mpatha", "mpath-3600", "multipath -f mpatha"},
                {"dm-3", "some", "", "dmsetup remove some"},
                {"dm-3", "", "", ""},
                {"md127", "", "", "mdadm --stop /dev/md127"},
                {"bcache0", "", "", "echo 1 >/sys/block/bcache0/bcache/stop"},
                {"btrfs 1-2", "", "", ""},
        };
        char ret[1200];

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (!streq(freeing_holder(table[i].name, table[i].mapping, table[i].uuid, ret, sizeof(ret)), table[i].command))
                        fail_msg("row %zu: %s", i, ret);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_users), cmocka_unit_test(test_long_words),
                                           cmocka_unit_test(test_holders)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
