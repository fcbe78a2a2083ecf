/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * Whether a disk can be told what is free (UNMAP), and whether the kernel does so. A disk says it can in VPD
 * page B2 (LBPU), and how much at a time in page B0 (SBC-4, 6.6.4 and 6.6.6). sd goes by them only where READ
 * CAPACITY(16) says the same (LBPME), which many bridges forget; and under usb-storage sd is told not to ask
 * for VPD pages at all.
 */

enum trim_offer {
        TRIM_OFFER_UNKNOWN, /* no such page is shown */
        TRIM_OFFER_NO,
        TRIM_OFFER_YES,
        _TRIM_OFFER_MAX,
};
const char *trim_offer_to_string(enum trim_offer v);

#define TRIM_MODE_MAX 16

struct trim_facts {
        enum trim_offer offer;
        uint64_t max_bytes;       /* at a time, by its own word, as the kernel takes it; 0: not known */
        char mode[TRIM_MODE_MAX]; /* provisioning_mode; empty: there is no such attribute */
        uint64_t used_bytes;      /* discard_max_bytes: what the kernel sends at a time; 0: it sends nothing */
        bool kept;                /* uasctl trim on */
};

/* By the pages as sysfs shows them, header and all; n 0: not shown. Fills offer and max_bytes. */
void trim_pages(const uint8_t *b2, size_t n_b2, const uint8_t *b0, size_t n_b0, unsigned block_size, struct trim_facts *ret);

/* How it stands, and what to do: a sentence without a full stop. Returns ret. */
char *trim_sentence(const struct trim_facts *t, enum driver driver, char *ret, size_t size);
/* What to do alone; NULL: nothing. */
const char *trim_advice(const struct trim_facts *t, enum driver driver);
