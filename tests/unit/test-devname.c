/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"

#include "common/util.h"
#include "core/disk-words.h"
#include "core/disk.h"

static const struct {
        const char *name;
        enum devname kind;
} table[] = {
        {"/dev/sda", DEVNAME_KERNEL},
        {"/dev/sdab12", DEVNAME_KERNEL},
        {"/dev/sd/a", DEVNAME_LASTS},
        {"/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part1", DEVNAME_DRIVER},
        {"/dev/disk/by-id/scsi-35000c500a1b2c3d4", DEVNAME_DRIVER},
        {"/dev/disk/by-id/ata-ST4000_S1", DEVNAME_DRIVER},
        {"/dev/disk/by-id/usb-Maker_Disk_S1-0:0", DEVNAME_LASTS},
        {"/dev/disk/by-id/dm-name-ata-x", DEVNAME_LASTS},
        {"/dev/disk/by-diskseq/7", DEVNAME_DISKSEQ},
        {"/dev/disk/by-uuid/ata-1", DEVNAME_LASTS},
        {"/dev/disk/by-path/pci-0000:00:14.0-usb-0:1:1.0-scsi-0:0:0:0", DEVNAME_LASTS},
        {"/dev/mapper/sda1", DEVNAME_LASTS},
        {"UUID=1", DEVNAME_LASTS},
        {"sda1", DEVNAME_LASTS},
        {"", DEVNAME_LASTS},
};

static void test_names(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (devname_of(table[i].name) != table[i].kind)
                        fail_msg("%s", table[i].name);
        for (enum devname v = 0; v < _DEVNAME_MAX; v++)
                assert_int_equal(devname_why(v) == NULL, v == DEVNAME_LASTS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
