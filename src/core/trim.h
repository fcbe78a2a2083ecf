/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * Does a disk support UNMAP (TRIM), and does the kernel use it? The disk reports it in VPD page B2
 * (LBPU), and the largest request in page B0 (SBC-4, 6.6.4 and 6.6.6). sd uses them only if READ
 * CAPACITY(16) reports the same (LBPME), which is missing in many bridges. Under usb-storage sd
 * does not read VPD pages at all.
 */

enum trim_offer {
        TRIM_OFFER_UNKNOWN, /* no such page */
        TRIM_OFFER_NO,
        TRIM_OFFER_YES,
        _TRIM_OFFER_MAX,
};
const char *trim_offer_to_string(enum trim_offer v);

#define TRIM_MODE_MAX 16

/*
 * The medium behind a bridge. The serial number of the bridge stays the same with another disk in
 * it. Both drivers show the size and the INQUIRY data, usb-storage no VPD page.
 */
struct trim_medium {
        uint64_t size;    /* bytes; 0: of an older uasd, which did not keep the medium */
        uint64_t inquiry; /* hash of vendor, product and revision */
        uint64_t serial;  /* hash of the VPD pages 80 and 83; 0: not shown */
};

/* Hashes n bytes into h, which is 0 at first. Never returns 0. */
uint64_t trim_hash(uint64_t h, const void *data, size_t n);
bool trim_medium_same(const struct trim_medium *kept, const struct trim_medium *now);

/* The setting of `uasctl trim DISK on`, for the medium there now. */
enum trim_kept {
        TRIM_NOT_KEPT,
        TRIM_KEPT,
        TRIM_KEPT_FOR_ANOTHER, /* for another medium, or an unknown one: it does not count */
        TRIM_NOT_OFFERED,      /* for this medium, which does not offer TRIM any more */
};

struct trim_facts {
        enum trim_offer offer;
        uint64_t
                max_bytes; /* largest request by its own pages, as the kernel uses it; 0: unknown */
        char mode[TRIM_MODE_MAX]; /* provisioning_mode; empty: no such attribute */
        uint64_t used_bytes; /* discard_max_bytes, the largest request of the kernel; 0: it sends
                                none */
        enum trim_kept kept;
        bool choice;   /* the disk offers UAS as well */
        bool no_udevd; /* udev, which turns it on, does not run here */
};

/* Fills offer and max_bytes from the pages in sysfs, with their headers; n 0: not there. */
void trim_pages(const uint8_t *b2, size_t n_b2, const uint8_t *b0, size_t n_b0, unsigned block_size,
                struct trim_facts *ret);

/* Returns true if the kernel uses TRIM only as long as the disk is on uas. */
bool trim_ends(const struct trim_facts *t);
/* Writes state and remedy: a sentence without a full stop. Returns ret. */
char *trim_sentence(const struct trim_facts *t, enum driver driver, char *ret, size_t size);
/* Returns only the remedy; NULL: none. */
const char *trim_advice(const struct trim_facts *t, enum driver driver);
