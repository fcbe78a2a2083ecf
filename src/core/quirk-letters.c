/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirks.h"

/* The letters of usb_stor_adjust_quirks() in drivers/usb/storage/usb.c. An entry without any clears
 * all flags of the kernel. */
const struct quirk_letter *quirk_letter_find(char letter)
{
        static const struct quirk_letter letters['z' + 1] = {
                /* clang-format off */
                ['a'] = {"SANE_SENSE", "the kernel asks for more than 18 bytes of sense data (usb-storage only)"},
                ['b'] = {"BAD_SENSE", "the kernel asks for 18 bytes of sense data at most (usb-storage only)"},
                ['c'] = {"FIX_CAPACITY", "the kernel takes one sector off the size that the disk reports"},
                ['d'] = {"NO_READ_DISC_INFO", "the kernel does not send READ DISC INFORMATION (usb-storage only)"},
                ['e'] = {"NO_READ_CAPACITY_16", "the kernel does not send READ CAPACITY(16)"},
                ['f'] = {"NO_REPORT_OPCODES", "the kernel does not send REPORT SUPPORTED OPERATION CODES (uas only)"},
                ['g'] = {"MAX_SECTORS_240", "commands of at most 240 sectors (uas only)"},
                ['h'] = {"CAPACITY_HEURISTICS", "the kernel takes one sector off an odd size"},
                ['i'] = {"IGNORE_DEVICE", "the kernel binds no storage driver to the disk"},
                ['j'] = {"NO_REPORT_LUNS", "the kernel does not send REPORT LUNS (uas only)"},
                ['k'] = {"NO_SAME", "the kernel does not send WRITE SAME (uas only)"},
                ['l'] = {"NOT_LOCKABLE", "the kernel does not lock the medium (usb-storage only)"},
                ['m'] = {"MAX_SECTORS_64", "commands of at most 64 sectors"},
                ['n'] = {"INITIAL_READ10", "the kernel sends the first READ(10) again (usb-storage only)"},
                ['o'] = {"CAPACITY_OK", "the kernel believes the size that the disk reports (usb-storage only)"},
                ['p'] = {"WRITE_CACHE", "the kernel assumes a write cache (usb-storage only)"},
                ['r'] = {"IGNORE_RESIDUE", "the kernel ignores the residue that the disk reports (usb-storage only)"},
                ['s'] = {"SINGLE_LUN", "the kernel looks only for one LUN"},
                ['t'] = {"NO_ATA_1X", "the kernel blocks ATA commands, so SMART cannot be read"},
                ['u'] = {"IGNORE_UAS", "the kernel keeps the disk off uas"},
                ['w'] = {"NO_WP_DETECT", "the kernel does not test for write protection"},
                ['y'] = {"ALWAYS_SYNC", "the kernel flushes the cache even if the disk reports none"},
                /* clang-format on */
        };

        if (letter < 'a' || letter > 'z' || !letters[(int) letter].flag)
                return NULL;
        return letters + letter;
}
