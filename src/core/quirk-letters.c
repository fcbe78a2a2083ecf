/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirks.h"

/* The letters of usb_stor_adjust_quirks() in drivers/usb/storage/usb.c. An entry without any clears
 * all flags of the kernel. */
const char *quirk_letter_means(char letter)
{
        static const char *const means['z' + 1] = {
                ['a'] = "the kernel asks for more than 18 bytes of sense data (usb-storage only)",
                ['b'] = "the kernel asks for 18 bytes of sense data at most (usb-storage only)",
                ['c'] = "the kernel takes one sector off the size that the disk reports",
                ['d'] = "the kernel does not send READ DISC INFORMATION (usb-storage only)",
                ['e'] = "the kernel does not send READ CAPACITY(16)",
                ['f'] = "the kernel does not send REPORT SUPPORTED OPERATION CODES (uas only)",
                ['g'] = "commands of at most 240 sectors (uas only)",
                ['h'] = "the kernel takes one sector off an odd size",
                ['i'] = "the kernel binds no storage driver to the disk",
                ['j'] = "the kernel does not send REPORT LUNS (uas only)",
                ['k'] = "the kernel does not send WRITE SAME (uas only)",
                ['l'] = "the kernel does not lock the medium (usb-storage only)",
                ['m'] = "commands of at most 64 sectors",
                ['n'] = "the kernel sends the first READ(10) again (usb-storage only)",
                ['o'] = "the kernel believes the size that the disk reports (usb-storage only)",
                ['p'] = "the kernel assumes a write cache (usb-storage only)",
                ['r'] = "the kernel ignores the residue that the disk reports (usb-storage only)",
                ['s'] = "the kernel looks only for one LUN",
                ['t'] = "the kernel blocks ATA commands, so SMART cannot be read",
                ['u'] = "the kernel keeps the disk off uas",
                ['w'] = "the kernel does not test for write protection",
                ['y'] = "the kernel flushes the cache even if the disk reports none",
        };

        return letter >= 'a' && letter <= 'z' ? means[(int) letter] : NULL;
}
