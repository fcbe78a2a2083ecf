/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirks.h"

/* The letters of usb_stor_adjust_quirks() in drivers/usb/storage/usb.c. An entry without any clears all flags of the kernel. */
const char *quirk_letter_means(char letter)
{
        static const char *const means[26] = {
                ['a' - 'a'] = "the kernel asks for more than 18 bytes of sense data (usb-storage only)",
                ['b' - 'a'] = "the kernel asks for 18 bytes of sense data at most (usb-storage only)",
                ['c' - 'a'] = "the kernel takes one sector off the size that the disk reports",
                ['d' - 'a'] = "the kernel does not send READ DISC INFORMATION (usb-storage only)",
                ['e' - 'a'] = "the kernel does not send READ CAPACITY(16)",
                ['f' - 'a'] = "the kernel does not send REPORT SUPPORTED OPERATION CODES (uas only)",
                ['g' - 'a'] = "commands of at most 240 sectors (uas only)",
                ['h' - 'a'] = "the kernel takes one sector off an odd size",
                ['i' - 'a'] = "the kernel binds no storage driver to the disk",
                ['j' - 'a'] = "the kernel does not send REPORT LUNS (uas only)",
                ['k' - 'a'] = "the kernel does not send WRITE SAME (uas only)",
                ['l' - 'a'] = "the kernel does not lock the medium (usb-storage only)",
                ['m' - 'a'] = "commands of at most 64 sectors",
                ['n' - 'a'] = "the kernel sends the first READ(10) again (usb-storage only)",
                ['o' - 'a'] = "the kernel believes the size that the disk reports (usb-storage only)",
                ['p' - 'a'] = "the kernel assumes a write cache (usb-storage only)",
                ['r' - 'a'] = "the kernel ignores the residue that the disk reports (usb-storage only)",
                ['s' - 'a'] = "the kernel looks only for one LUN",
                ['t' - 'a'] = "the kernel blocks ATA commands, so SMART cannot be read",
                ['u' - 'a'] = "the kernel keeps the disk off uas",
                ['w' - 'a'] = "the kernel does not test for write protection",
                ['y' - 'a'] = "the kernel flushes the cache even if the disk reports none",
        };

        return letter >= 'a' && letter <= 'z' ? means[letter - 'a'] : NULL;
}
