/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirks.h"

/*
 * The letters of usb_stor_adjust_quirks() in drivers/usb/storage/usb.c. An entry without any clears
 * all flags of the kernel that have a letter there. Linux 3.10.108, 4.4.302, 5.10.262 and 6.1.192
 * were read. A letter may be newer than its version here: the kernel ignores it then, but without
 * it the entry may clear a flag.
 */
const struct quirk_letter *quirk_letter_find(char letter, unsigned kernel)
{
        static const struct quirk_letter letters[UINT8_MAX + 1] = {
                /* clang-format off */
                ['a'] = {"SANE_SENSE", "the kernel asks for more than 18 bytes of sense data (usb-storage only)", 0},
                ['b'] = {"BAD_SENSE", "the kernel asks for 18 bytes of sense data at most (usb-storage only)", 0},
                ['c'] = {"FIX_CAPACITY", "the kernel takes one sector off the size that the disk reports", 0},
                ['d'] = {"NO_READ_DISC_INFO", "the kernel does not send READ DISC INFORMATION (usb-storage only)", 0},
                ['e'] = {"NO_READ_CAPACITY_16", "the kernel does not send READ CAPACITY(16)", 0},
                ['f'] = {"NO_REPORT_OPCODES", "the kernel does not send REPORT SUPPORTED OPERATION CODES (uas only)", LINUX(3, 11)},
                ['g'] = {"MAX_SECTORS_240", "commands of at most 240 sectors (uas only)", LINUX(3, 11)},
                ['h'] = {"CAPACITY_HEURISTICS", "the kernel takes one sector off an odd size", 0},
                ['i'] = {"IGNORE_DEVICE", "the kernel binds no storage driver to the disk", 0},
                ['j'] = {"NO_REPORT_LUNS", "the kernel does not send REPORT LUNS (uas only)", LINUX(3, 11)},
                ['k'] = {"NO_SAME", "the kernel does not send WRITE SAME (uas only)", LINUX(4, 5)},
                ['l'] = {"NOT_LOCKABLE", "the kernel does not lock the medium (usb-storage only)", 0},
                ['m'] = {"MAX_SECTORS_64", "commands of at most 64 sectors", 0},
                ['n'] = {"INITIAL_READ10", "the kernel sends the first READ(10) again (usb-storage only)", 0},
                ['o'] = {"CAPACITY_OK", "the kernel believes the size that the disk reports (usb-storage only)", 0},
                ['p'] = {"WRITE_CACHE", "the kernel assumes a write cache (usb-storage only)", 0},
                ['r'] = {"IGNORE_RESIDUE", "the kernel ignores the residue that the disk reports (usb-storage only)", 0},
                ['s'] = {"SINGLE_LUN", "the kernel looks only for one LUN", 0},
                ['t'] = {"NO_ATA_1X", "the kernel blocks ATA commands, so SMART cannot be read", LINUX(3, 11)},
                ['u'] = {"IGNORE_UAS", "the kernel keeps the disk off uas", LINUX(3, 11)},
                ['w'] = {"NO_WP_DETECT", "the kernel does not test for write protection", 0},
                ['y'] = {"ALWAYS_SYNC", "the kernel flushes the cache even if the disk reports none", LINUX(4, 5)},
                /* clang-format on */
        };
        const struct quirk_letter *known = letters + (uint8_t) letter;

        if (!known->flag || (kernel && kernel < known->since))
                return NULL;
        return known;
}
