/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * Does a disk support UNMAP (TRIM), and does the kernel use it? The disk reports it in VPD page B2 (LBPU), and the largest
 * request in page B0 (SBC-4, 6.6.4 and 6.6.6). sd uses them only if READ CAPACITY(16) reports the same (LBPME), which is missing
 * in many bridges. Under usb-storage sd does not read VPD pages at all.
 */

enum trim_offer {
        TRIM_OFFER_UNKNOWN, /* no such page */
        TRIM_OFFER_NO,
        TRIM_OFFER_YES,
        _TRIM_OFFER_MAX,
};
const char *trim_offer_to_string(enum trim_offer v);

#define TRIM_MODE_MAX 16

struct trim_facts {
        enum trim_offer offer;
        uint64_t max_bytes;       /* largest request by its own pages, as the kernel uses it; 0: unknown */
        char mode[TRIM_MODE_MAX]; /* provisioning_mode; empty: no such attribute */
        uint64_t used_bytes;      /* discard_max_bytes, the largest request of the kernel; 0: it sends none */
        bool kept;                /* uasctl trim on */
};

/* Fills offer and max_bytes from the pages in sysfs, with their headers; n 0: not there. */
void trim_pages(const uint8_t *b2, size_t n_b2, const uint8_t *b0, size_t n_b0, unsigned block_size, struct trim_facts *ret);

/* Writes state and remedy: a sentence without a full stop. Returns ret. */
char *trim_sentence(const struct trim_facts *t, enum driver driver, char *ret, size_t size);
/* Returns only the remedy; NULL: none. */
const char *trim_advice(const struct trim_facts *t, enum driver driver);
