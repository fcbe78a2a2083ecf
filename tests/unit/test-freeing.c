/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"
#include "core/freeing.h"

#include "unit.h"

/* The choice: the use itself, or its process, by its service if it has one. */
static void command_for(const struct user *u, bool ignores, char *ret, size_t size)
{
        char operand[REMEDY_OPERAND_MAX] = "";
        enum remedy id = freeing_user(u, operand);

        if (freeing_ends_process(u)) {
                assert_int_equal(id, REMEDY_NONE);
                id = freeing_unit(u, operand);
                if (id == REMEDY_NONE)
                        id = freeing_process(u, ignores, operand);
        }
        if (id == REMEDY_NONE)
                ret[0] = '\0';
        else
                (void) remedy_command(id, operand, ret, size);
}

static void test_users(void **state)
{
        static const struct {
                struct user user;
                const char *command;
                bool ignores;
        } table[] = {
                /* clang-format off */
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/usb"}, "umount /mnt/usb"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/a b"}, "umount '/mnt/a b'"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/it's;reboot"}, "umount '/mnt/it'\\''s;reboot'"},
                {{.kind = USER_MOUNT, .device = "sda1"}, ""},
                /* escaped by the bus, or as it is */
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/a\\x0ab"}, ""},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/a\nb"}, ""},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/mnt/\xff"}, ""},
                /* in another mount namespace nothing is run */
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 9}, "kill 9"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 9}, "kill -KILL 9", true},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 9, .unit = (char *) "smbd.service"},
                 "systemctl stop smbd.service"},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]"}, ""},
                {{.kind = USER_MOUNT, .device = "sda1", .where = (char *) "/srv", .namespace = (char *) "mnt:[7]", .pid = 1}, ""},
                {{.kind = USER_SWAP, .device = "sda2"}, "swapoff /dev/sda2"},
                {{.kind = USER_SWAP, .device = "sda2", .where = (char *) "/dev/dm-0"}, "swapoff /dev/dm-0"},
                {{.kind = USER_LOOP, .device = "sda", .where = (char *) "loop0"}, "losetup --detach /dev/loop0"},
                {{.kind = USER_LOOP, .device = "sda"}, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .command = (char *) "dd"}, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "smartd.service"}, "systemctl stop smartd.service"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "user@1000.service"}, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) "session-3.scope"}, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .unit = (char *) ".service"}, "kill 42"},
                {{.kind = USER_OPEN, .device = "sda"}, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 42, .command = (char *) "(udev-worker)", .unit = (char *) "systemd-udevd.service"}, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 1, .command = (char *) "systemd"}, ""},
                {{.kind = USER_OPEN, .device = "sda", .pid = 2}, "kill 2"},
                {{.kind = USER_CLAIM, .device = "sda", .where = (char *) "ZFS pool tank"}, "zpool export tank"},
                {{.kind = USER_CLAIM, .device = "sda", .pid = 7}, "kill 7"},
                {{.kind = USER_CLAIM, .device = "sda"}, ""},
                {{.kind = USER_HOLDER, .device = "sda", .where = (char *) "dm-0"}, ""},
                /* clang-format on */
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char ret[REMEDY_COMMAND_MAX];

                command_for(&table[i].user, table[i].ignores, ret, sizeof(ret));
                if (!streq(ret, table[i].command))
                        fail_msg("row %zu: %s", i, ret);
        }
}

static void test_holders(void **state)
{
        static const struct {
                const char *name, *mapping, *uuid, *command;
        } table[] = {
                {"dm-0", "data-home", "LVM-abc", "lvchange -an data/home"},
                {"dm-0", "my--data-the--lv", "LVM-abc", "lvchange -an my-data/the-lv"},
                {"dm-0", "data-home-real", "LVM-abc", ""}, /* a layer */
                {"dm-0", "data", "LVM-abc", ""},
                {"dm-1", "backup", "CRYPT-LUKS2-0011-backup", "cryptsetup close backup"},
                {"dm-1", "--all", "CRYPT-LUKS2-0011-backup", ""}, /* an option */
                {"dm-1", "root hash", "CRYPT-VERITY-0011", "veritysetup close 'root hash'"},
                {"dm-1", "sums", "CRYPT-INTEGRITY-0011", "integritysetup close sums"},
                {"dm-2", "mpatha", "mpath-3600", "multipath -f mpatha"},
                {"dm-3", "some", "", "dmsetup remove some"},
                {"dm-3", "", "", ""},
                {"md127", "", "", "mdadm --stop /dev/md127"},
                {"bcache0", "", "", "echo 1 >/sys/block/bcache0/bcache/stop"},
                {"btrfs 1-2", "", "", ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char operand[REMEDY_OPERAND_MAX] = "", ret[REMEDY_COMMAND_MAX] = "";
                enum remedy id =
                        freeing_holder(table[i].name, table[i].mapping, table[i].uuid, operand);

                if (id != REMEDY_NONE)
                        (void) remedy_command(id, operand, ret, sizeof(ret));
                if (!streq(ret, table[i].command))
                        fail_msg("row %zu: %s", i, ret);
        }
}

/* A name that does not fit gives no operand, and not a shorter one. */
static void test_long_names(void **state)
{
        char name[3000] = "", operand[REMEDY_OPERAND_MAX];

        memset(name, 'a', sizeof(name) - 1);
        assert_int_equal(freeing_user(&(struct user){.kind = USER_MOUNT, .where = name}, operand),
                         REMEDY_UMOUNT);
        assert_string_equal(operand, "");
        assert_int_equal(freeing_holder("dm-0", name, "", operand), REMEDY_MAPPING);
        assert_string_equal(operand, "");
        name[1] = '-';
        assert_int_equal(freeing_holder("dm-0", name, "LVM-1", operand), REMEDY_NONE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_users),
                                           cmocka_unit_test(test_holders),
                                           cmocka_unit_test(test_long_names)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
