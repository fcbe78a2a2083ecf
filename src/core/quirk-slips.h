/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirk-words.h"
#include "core/quirks.h"

/*
 * Slips: text that was meant as entries in the quirks of usb-storage, and that the kernel ignores
 * without a message (drivers/usb/storage/usb.c:usb_stor_adjust_quirks()).
 */
enum quirk_slip_kind {
        SLIP_NAME,    /* of the parameter */
        SLIP_BLANK,   /* a blank ends the word, so these entries are a word of their own */
        SLIP_LETTERS, /* no second colon */
        SLIP_DIGITS,  /* more than four */
        SLIP_SHAPE,   /* not VID:PID:LETTERS in another way */
        SLIP_UNKNOWN, /* a letter that the kernel does not know; the entry counts without it */
        _QUIRK_SLIP_KIND_MAX,
};

struct quirk_slip {
        enum quirk_slip_kind kind;
        const struct quirk_line *line; /* its source */
        char text[QUIRKS_MAX + 1];     /* as written, cut off at the end */
        char meant[QUIRKS_MAX + 1];    /* the entries in the right spelling; empty: not known */
};

/*
 * Returns true if a word is no `quirks=` of usb-storage, but looks like a slip. usb_storage: it is
 * an option of that module in modprobe.d, else it is on the command line. behind: the word before
 * is a `quirks=` or a slip.
 */
bool quirk_word_is_slip(const char *parameter, const char *value, bool usb_storage, bool behind);

/* Lists all slips, in the order in which the kernel gets them. Returns their number, at most `max`.
 */
size_t quirk_slips(const struct quirk_lines *lines, struct quirk_slip *ret, size_t max);
/* Returns true if it was meant for this bridge, as far as that can be seen. */
bool quirk_slip_is_for(const struct quirk_slip *s, uint16_t vid, uint16_t pid);

/* Write a clause with the reason, and a sentence with the right spelling (empty: not known). Return
 * ret. */
char *quirk_slip_why(const struct quirk_slip *s, char *ret, size_t size);
char *quirk_slip_remedy(const struct quirk_slip *s, char *ret, size_t size);
const char *quirk_slip_kind_to_string(enum quirk_slip_kind v);
