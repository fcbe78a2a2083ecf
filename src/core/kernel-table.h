/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/quirks.h"

/* Flags as a set of letters, as the kernel has them as a set of bits. */
typedef uint32_t letters_t;
#define LETTER(c) ((letters_t) 1 << ((c) - 'a'))
#define LETTER_U LETTER('u')

/* Writes the set in alphabetical order. ret has room for at least 27 characters. */
void letters_format(letters_t letters, char *ret);

/* The flags of one driver before it reads the parameter. */
struct driver_flags {
        letters_t letters; /* without 'u' */
        bool ignore_uas;
};
void kernel_driver_flags(const struct bridge *b, enum driver driver, struct driver_flags *ret);
