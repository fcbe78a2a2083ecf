/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"
#include "core/quirks.h"

/*
 * The facts of unusual_uas.h, the same in Linux 5.10.262, 6.1, 6.12, 7.2.13 and 7.3. Rows with a
 * limit differ in Linux 4.4.302, or in late releases of 4.9 and 4.14. A stable kernel gets new rows
 * too: a limit is the oldest series that has the row, in its last release. Kernels before 4.4 count
 * as 4.4.
 *
 * tests/unit/test-kernel-table.py compares them with Debian's newest kernel; see
 * tools/kernel-table. Also some rows of unusual_devs.h: those with IGNORE_UAS, and those of disks
 * that may support UAS. Our entry would remove their flags, such as ALWAYS_SYNC, without which
 * written data is lost. Flags without a letter (BROKEN_FUA) are left out: an entry of the parameter
 * can neither set nor clear them. The first match in a table counts.
 */
struct kernel_row {
        uint16_t vid, pid, bcd_min, bcd_max;
        const char *letters;
        const char *name;
        unsigned since, until; /* LINUX(), from the one and before the other; 0: no limit */
};
#define ALWAYS 0, 0
#define SINCE(major, minor) LINUX(major, minor), 0
#define BEFORE(major, minor) 0, LINUX(major, minor)

/* In the id tables of both drivers. */
static const struct kernel_row uas_rows[] = {
        {0x054c, 0x087d, 0x0000, 0x9999, "f", "Sony PSZ-HA*", ALWAYS},
        {0x059f, 0x105f, 0x0000, 0x9999, "fk", "LaCie 2Big Quadra USB3", SINCE(4, 14)},
        {0x059f, 0x1061, 0x0000, 0x9999, "fk", "LaCie Rugged USB3-FW", SINCE(4, 14)},
        {0x059f, 0x105f, 0x0000, 0x9999, "f", "LaCie 2Big Quadra USB3", BEFORE(4, 14)},
        {0x059f, 0x1061, 0x0000, 0x9999, "u", "LaCie Rugged USB3-FW", BEFORE(4, 14)},
        {0x0781, 0x55e8, 0x0000, 0x9999, "u", "SanDisk", SINCE(4, 14)},
        {0x090c, 0x2000, 0x0000, 0x9999, "u", "Hiksemi External HDD", SINCE(4, 5)},
        {0x0984, 0x0301, 0x0128, 0x0128, "u", "Apricorn", ALWAYS},
        {0x0b05, 0x1932, 0x0000, 0x9999, "u", "ASUS External HDD", SINCE(4, 14)},
        {0x0bc2, 0x331a, 0x0000, 0x9999, "j", "Seagate Expansion Desk", ALWAYS},
        {0x125f, 0xa94a, 0x0160, 0x0160, "t", "ADATA Portable HDD CH94", SINCE(4, 14)},
        {0x13fd, 0x3940, 0x0000, 0x0309, "tr", "Initio Corporation INIC-3069", SINCE(4, 14)},
        {0x13fd, 0x3940, 0x0000, 0x9999, "tr", "Initio Corporation INIC-3069", BEFORE(4, 14)},
        {0x152d, 0x0539, 0x0000, 0x9999, "f", "JMicron JMS539", ALWAYS},
        {0x152d, 0x0567, 0x0000, 0x9999, "f", "JMicron JMS567", ALWAYS},
        {0x152d, 0x0578, 0x0000, 0x9999, "", "JMicron JMS567", ALWAYS},
        {0x152d, 0x0583, 0x0000, 0x9999, "f", "JMicron JMS583Gen 2", SINCE(4, 5)},
        {0x154b, 0xf009, 0x0000, 0x9999, "tf", "PNY PNY ELITE PSSD", SINCE(4, 14)},
        {0x154b, 0xf00b, 0x0000, 0x9999, "t", "PNY Pro Elite SSD", ALWAYS},
        {0x154b, 0xf00d, 0x0000, 0x9999, "t", "PNY Pro Elite SSD", ALWAYS},
        {0x17ef, 0x3899, 0x0000, 0x9999, "u", "Thinkplus External HDD", SINCE(4, 5)},
        {0x2109, 0x0711, 0x0000, 0x9999, "t", "VIA VL711", ALWAYS},
        {0x2537, 0x1068, 0x0000, 0x9999, "u", "Norelsys NS1068X", ALWAYS},
        {0x357d, 0x7788, 0x0000, 0x9999, "fu", "JMicron JMS566", ALWAYS},
        {0x4971, 0x1012, 0x0000, 0x9999, "u", "Hitachi External HDD", ALWAYS},
        {0x4971, 0x8017, 0x0000, 0x9999, "f", "SimpleTech External HDD", ALWAYS},
        {0x4971, 0x8024, 0x0000, 0x9999, "y", "SimpleTech External HDD", SINCE(4, 5)},
};

/* Only in usb-storage's id table, before the rows above. */
static const struct kernel_row storage_rows[] = {
        {0x0480, 0xd010, 0x0100, 0x9999, "y", "Toshiba External USB 3.0", SINCE(4, 5)},
        {0x0525, 0xa4a5, 0x0000, 0x9999, "o", "Linux File-backed Storage Gadget", ALWAYS},
        {0x090c, 0x3350, 0x0000, 0xffff, "b", "SMI SM3350", ALWAYS},
        {0x0bc2, 0x2300, 0x0000, 0x9999, "p", "Seagate Portable HDD", ALWAYS},
        {0x0bc2, 0x3332, 0x0000, 0x9999, "w", "Seagate External", ALWAYS},
        {0x1058, 0x070a, 0x0000, 0x9999, "p", "Western Digital My Passport HDD", ALWAYS},
        {0x13fd, 0x3609, 0x0209, 0x0209, "r", "Initio Corporation INIC-3619", SINCE(4, 5)},
        {0x152d, 0x0567, 0x0114, 0x0117, "", "JMicron USB to ATA/ATAPI Bridge", ALWAYS},
        {0x152d, 0x9561, 0x0000, 0x9999, "f", "JMicron JMS56x", ALWAYS},
        {0x2109, 0x0715, 0x0000, 0x9999, "u", "VIA Labs, Inc. VL817 SATA Bridge", SINCE(4, 5)},
        {0x2ca3, 0x0031, 0x0000, 0x9999, "t", "DJI CineSSD", ALWAYS},
        {0x357d, 0x7788, 0x0114, 0x0114, "u", "JMicron USB to ATA/ATAPI Bridge", ALWAYS},
};

unsigned linux_version(const char *release)
{
        unsigned long long major, minor;

        if (take_uint(&release, 10, UINT8_MAX, &major) < 0 || *release++ != '.' ||
            take_uint(&release, 10, UINT8_MAX, &minor) < 0)
                return 0;
        return LINUX((unsigned) major, (unsigned) minor);
}

/* Returns true for a row of this disk in the kernel that runs. */
static bool kernel_row_holds(const struct kernel_row *row, const struct bridge *b)
{
        if (row->vid != b->vid || row->pid != b->pid)
                return false;
        return b->kernel ? row->since <= b->kernel && (!row->until || b->kernel < row->until)
                         : !row->until;
}

static const struct kernel_row *kernel_row_find(const struct kernel_row *rows, size_t n,
                                                const struct bridge *b)
{
        for (size_t i = 0; i < n; i++)
                if (kernel_row_holds(rows + i, b) && rows[i].bcd_min <= b->bcd &&
                    b->bcd <= rows[i].bcd_max)
                        return rows + i;
        return NULL;
}

static letters_t row_letters(const struct kernel_row *row)
{
        letters_t letters = 0;

        if (!row)
                return 0;
        for (const char *p = row->letters; *p; p++)
                letters |= LETTER(*p);
        return letters;
}

/*
 * The letters of a bridge in a table; `otherwise`: those without a row there. With unknown firmware
 * both, and those of all its rows: a flag too many costs speed, one that is missing may cost data.
 * But 'u' only from a row for each firmware, or the disk might not be kept off uas.
 */
static letters_t find_letters(const struct kernel_row *rows, size_t n, const struct bridge *b,
                              letters_t otherwise)
{
        const struct kernel_row *row;

        if (!b->any_bcd) {
                row = kernel_row_find(rows, n, b);
                return row ? row_letters(row) : otherwise;
        }
        for (row = rows; row < rows + n; row++) {
                letters_t letters;

                if (!kernel_row_holds(row, b))
                        continue;
                letters = row_letters(row);
                if (row->bcd_min > 0 || row->bcd_max < 0x9999)
                        letters &= ~LETTER_U;
                otherwise |= letters;
        }
        return otherwise;
}

/* A rule is code in uas-detect.h: it can add letters, such as 'u', but cannot remove any. Each is
 * for another vendor. */
static letters_t rule_letters(const struct bridge *b, const char **ret_name)
{
        *ret_name = NULL;
        /* With bMaxPower 0 it is an ASM1153. */
        if (b->vid == 0x174c && (b->pid == 0x5106 || b->pid == 0x55aa) && b->max_power > 0) {
                *ret_name = "ASMedia ASM105x, perhaps the ASM1051 with broken UAS";
                /* possibly an ASM1051, or an ASM1053 */
                if (b->speed_mbps < SUPER_SPEED_MBPS || b->status_streams == 32)
                        return LETTER_U;
                return LETTER('g');
        }
        if (b->vid == 0x0bc2) {
                *ret_name = "Seagate";
                return LETTER('t');
        }
        if (b->vid == 0x0bda && b->pid == 0x9210 && b->manufacturer && b->product &&
            (!b->kernel || b->kernel >= LINUX(4, 14)) && streq(b->manufacturer, "HIKSEMI") &&
            streq(b->product, "MD202")) {
                *ret_name = "HIKSEMI MD202";
                return LETTER_U;
        }
        return 0;
}

void letters_format(letters_t letters, char *ret)
{
        for (char c = 'a'; c <= 'z'; c++)
                if (letters & LETTER(c))
                        *ret++ = c;
        *ret = '\0';
}

letters_t kernel_letters(const struct bridge *b, enum driver driver)
{
        const char *name;
        letters_t uas = find_letters(uas_rows, ELEMENTSOF(uas_rows), b, 0),
                  ruled = rule_letters(b, &name);

        /* usb-storage uses the rules only to decline a disk, and ignores their letters otherwise.
         */
        if (driver == DRIVER_USB_STORAGE)
                return find_letters(storage_rows, ELEMENTSOF(storage_rows), b, uas) |
                       (ruled & LETTER_U);
        return uas | ruled;
}

void kernel_flags(const struct bridge *b, struct kernel_flags *ret)
{
        const struct kernel_row *row = kernel_row_find(uas_rows, ELEMENTSOF(uas_rows), b),
                                *storage =
                                        kernel_row_find(storage_rows, ELEMENTSOF(storage_rows), b);
        const char *rule_name;
        letters_t table = row_letters(row), ruled = rule_letters(b, &rule_name),
                  all = table | ruled;

        *ret = (struct kernel_flags){.ignore_uas = (all | row_letters(storage)) & LETTER_U};
        letters_format(all & ~LETTER_U, ret->letters);

        /* First a row or rule with 'u', then any other. */
        if (table & LETTER_U || (row && !ret->ignore_uas)) {
                ret->source = KERNEL_TABLE_UAS;
                ret->name = row->name;
        } else if (ruled & LETTER_U || (ruled && !ret->ignore_uas)) {
                ret->source = KERNEL_RULE;
                ret->name = rule_name;
        } else if (row_letters(storage) & LETTER_U) {
                ret->source = KERNEL_TABLE_STORAGE;
                ret->name = storage->name;
        }
}
