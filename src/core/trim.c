/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/trim.h"

#include "common/sentence.h"
#include "common/util.h"

#define LBPU 0x80

#define MEGABYTE (UINT64_C(1) << 20)
#define COARSEST 4096 /* a block of any disk: the kernel requires a multiple of it */

static const char *const trim_offer_names[_TRIM_OFFER_MAX] = {
        [TRIM_OFFER_UNKNOWN] = "unknown",
        [TRIM_OFFER_NO] = "no",
        [TRIM_OFFER_YES] = "yes",
};

DEFINE_TO_STRING(trim_offer)

/* FNV-1a: it tells disks apart, and needs no secret. */
uint64_t trim_hash(uint64_t h, const void *data, size_t n)
{
        const uint8_t *p = data;

        h = h ?: UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < n; i++)
                h = (h ^ p[i]) * UINT64_C(0x100000001b3);
        return h ?: 1;
}

bool trim_medium_same(const struct trim_medium *kept, const struct trim_medium *now)
{
        return kept->size != 0 && kept->size == now->size && kept->inquiry == now->inquiry &&
               (kept->serial == now->serial || kept->serial == 0 || now->serial == 0);
}

static uint64_t be32(const uint8_t *p)
{
        return (uint64_t) p[0] << 24 | (uint64_t) p[1] << 16 | (uint64_t) p[2] << 8 | p[3];
}

static bool trim_page_valid(const uint8_t *p, size_t n, uint8_t page, size_t at_least)
{
        return n >= at_least && p[1] == page && 4u + (p[2] << 8 | p[3]) >= at_least;
}

void trim_pages(const uint8_t *b2, size_t n_b2, const uint8_t *b0, size_t n_b0, unsigned block_size,
                struct trim_facts *ret)
{
        uint64_t max, unit = COARSEST;

        ret->max_bytes = 0;
        ret->offer = TRIM_OFFER_UNKNOWN;
        if (!trim_page_valid(b2, n_b2, 0xb2, 6))
                return;
        ret->offer = TRIM_OFFER_NO;
        if (!(b2[5] & LBPU))
                return;
        ret->offer = TRIM_OFFER_YES;
        if (!trim_page_valid(b0, n_b0, 0xb0, 28))
                return;
        /* No blocks, or none at a time: it does not support UNMAP. */
        if (be32(b0 + 20) == 0 || be32(b0 + 24) == 0) {
                ret->offer = TRIM_OFFER_NO;
                return;
        }
        max = be32(b0 + 20) * block_size;
        if (max >= MEGABYTE)
                unit = MEGABYTE;
        ret->max_bytes = max - max % unit;
}

const char *trim_advice(const struct trim_facts *t, enum driver driver)
{
        if (t->kept == TRIM_KEPT_FOR_ANOTHER && t->mode[0] && t->offer == TRIM_OFFER_YES)
                return "To keep it on for this one: uasctl trim DISK on";
        if (t->used_bytes > 0 || t->mode[0] == '\0')
                return NULL;
        if (t->kept == TRIM_KEPT && t->no_udevd)
                return "Only udev turns it on, and no udevd runs here";
        if (t->kept == TRIM_KEPT && t->offer == TRIM_OFFER_YES)
                return "udev has not turned it on. To ask it again: uasctl trim DISK on";
        if (t->kept == TRIM_KEPT)
                return "udev has not turned it on. To ask it again: uasctl --force trim DISK on";
        if (t->offer == TRIM_OFFER_YES)
                return "To turn it on: uasctl trim DISK on";
        if (t->offer == TRIM_OFFER_UNKNOWN && driver == DRIVER_USB_STORAGE && t->choice)
                return "Under uas, uasctl shows whether the disk offers it";
        return NULL;
}

static const char *trim_clause(const struct trim_facts *t)
{
        if (t->used_bytes > 0 && t->kept == TRIM_KEPT)
                return "in use under both drivers, because it is kept on";
        if (t->used_bytes > 0)
                return "in use: the kernel turned it on by itself";
        if (t->mode[0] == '\0')
                return "not possible: the kernel sends TRIM only to disks";
        if (t->kept == TRIM_KEPT_FOR_ANOTHER)
                return "not in use: it was turned on for another disk behind this bridge";
        if (t->offer == TRIM_OFFER_YES)
                return "not in use, though the disk offers it (LBPU)";
        if (t->offer == TRIM_OFFER_NO)
                return "not in use: the disk does not offer it";
        if (t->kept == TRIM_KEPT)
                return "not in use, though it is kept on";
        return "not in use";
}

bool trim_ends(const struct trim_facts *t)
{
        return t->used_bytes > 0 && t->kept != TRIM_KEPT && t->choice;
}

static const char *trim_end_advice(const struct trim_facts *t)
{
        if (t->offer == TRIM_OFFER_YES)
                return "Under usb-storage it would not be, unless it is kept on: uasctl trim DISK on";
        if (t->offer == TRIM_OFFER_UNKNOWN)
                return "Under usb-storage it would not be, unless it is kept on: uasctl --force trim DISK on";
        return "Under usb-storage it would not be";
}

char *trim_sentence(const struct trim_facts *t, enum driver driver, char *ret, size_t size)
{
        const char *advice = trim_advice(t, driver);

        /* The kernel finds this only under uas, not under usb-storage. */
        if (!advice && trim_ends(t) && driver == DRIVER_UAS)
                advice = trim_end_advice(t);
        (void) sentence(ret, size, "%s%s%s", trim_clause(t), advice ? ". " : "", advice ?: "");
        return ret;
}
