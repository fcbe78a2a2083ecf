/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The VPD pages of a disk. The first two bytes: block size and the length of page B2; then that
 * page, and page B0. */
#include "core/trim.h"

#include "fuzz.h"

/* A page is what a disk sends, cut to its buffer: ASan detects a read past its end. */
static uint8_t *page(const uint8_t *data, size_t n)
{
        uint8_t *p = malloc(n ?: 1);

        CHECK(p);
        if (n > 0)
                memcpy(p, data, n);
        return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct trim_facts t = {.max_bytes = 1};
        unsigned block_size;
        uint8_t *b2, *b0;
        char sentence[256];
        size_t n_b2;

        if (size < 2)
                return 0;
        block_size = 512U << (data[0] % 4);
        n_b2 = data[1] < size - 2 ? data[1] : size - 2;
        b2 = page(data + 2, n_b2);
        b0 = page(data + 2 + n_b2, size - 2 - n_b2);
        trim_pages(b2, n_b2, b0, size - 2 - n_b2, block_size, &t);
        CHECK(t.offer < _TRIM_OFFER_MAX);
        CHECK(t.max_bytes == 0 || t.offer == TRIM_OFFER_YES);
        CHECK(t.max_bytes % 4096 == 0 && t.max_bytes <= (uint64_t) UINT32_MAX * block_size);
        for (enum driver d = DRIVER_NONE; d <= DRIVER_USB_STORAGE; d++)
                CHECK(*trim_sentence(&t, d, sentence, sizeof(sentence)));
        free(b2);
        free(b0);
        return 0;
}
