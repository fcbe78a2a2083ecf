/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"

#include "common/util.h"
#include "core/trim.h"

#define B2(bits) 0, 0xb2, 0, 4, 0, bits, 2, 0
/* At most `lba` blocks in `n` ranges. */
#define B0(lba, n)                                                                                 \
        0, 0xb0, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ((lba) >> 24) & 0xff,      \
                ((lba) >> 16) & 0xff, ((lba) >> 8) & 0xff, (lba) &0xff, 0, 0, 0, n, 0, 0, 0, 8

static const struct {
        const char *what;
        uint8_t b2[8], n_b2, b0[64], n_b0;
        unsigned block_size;
        enum trim_offer offer;
        uint64_t max;
} pages[] = {
        {"nothing is shown", {0}, 0, {0}, 0, 512, TRIM_OFFER_UNKNOWN, 0},
        {"LBPU", {B2(0x80)}, 8, {B0(0x3fffff, 64)}, 64, 512, TRIM_OFFER_YES, UINT64_C(2047) << 20},
        {"blocks of 4 KiB",
         {B2(0x80)},
         8,
         {B0(0x3fffff, 64)},
         64,
         4096,
         TRIM_OFFER_YES,
         UINT64_C(16383) << 20},
        {"as many as a field holds",
         {B2(0x80)},
         8,
         {B0(0xffffffffu, 1)},
         64,
         512,
         TRIM_OFFER_YES,
         UINT64_C(2097151) << 20},
        {"no low byte",
         {B2(0x80)},
         8,
         {B0(0x01000000, 64)},
         64,
         512,
         TRIM_OFFER_YES,
         UINT64_C(8) << 30},
        {"less than a megabyte", {B2(0x80)}, 8, {B0(65, 1)}, 64, 512, TRIM_OFFER_YES, 32768},
        {"WRITE SAME alone", {B2(0x60)}, 8, {B0(0x3fffff, 64)}, 64, 512, TRIM_OFFER_NO, 0},
        {"none of it", {B2(0)}, 8, {B0(0, 0)}, 64, 512, TRIM_OFFER_NO, 0},
        {"LBPU, and no limits shown", {B2(0x80)}, 8, {0}, 0, 512, TRIM_OFFER_YES, 0},
        {"LBPU, and the short page of old",
         {B2(0x80)},
         8,
         {0, 0xb0, 0, 12},
         16,
         512,
         TRIM_OFFER_YES,
         0},
        {"LBPU, and a page that says it is short",
         {B2(0x80)},
         8,
         {0, 0xb0, 0, 12},
         64,
         512,
         TRIM_OFFER_YES,
         0},
        {"LBPU, and no blocks", {B2(0x80)}, 8, {B0(0, 64)}, 64, 512, TRIM_OFFER_NO, 0},
        {"LBPU, and no ranges", {B2(0x80)}, 8, {B0(0x3fffff, 0)}, 64, 512, TRIM_OFFER_NO, 0},
        {"as many ranges as a field holds no low byte of",
         {B2(0x80)},
         8,
         {0, 0xb0, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65, 1, 0, 0, 0},
         64,
         512,
         TRIM_OFFER_YES,
         32768},
        {"just as much as is read",
         {0, 0xb2, 0, 2, 0, 0x80},
         6,
         {0, 0xb0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0, 1},
         28,
         512,
         TRIM_OFFER_YES,
         32768},
        {"one byte less",
         {0, 0xb2, 0, 2, 0, 0x80},
         6,
         {0, 0xb0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0, 1},
         28,
         512,
         TRIM_OFFER_YES,
         0},
        {"cut off", {B2(0x80)}, 5, {B0(0x3fffff, 64)}, 64, 512, TRIM_OFFER_UNKNOWN, 0},
        {"says that it is too short",
         {0, 0xb2, 0, 1, 0, 0x80},
         8,
         {0},
         0,
         512,
         TRIM_OFFER_UNKNOWN,
         0},
        {"another page", {0, 0xb1, 0, 4, 0, 0x80}, 8, {0}, 0, 512, TRIM_OFFER_UNKNOWN, 0},
};

static void test_pages(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(pages); i++) {
                struct trim_facts t = {.max_bytes = 7};

                trim_pages(pages[i].b2, pages[i].n_b2, pages[i].b0, pages[i].n_b0,
                           pages[i].block_size, &t);
                if (t.offer != pages[i].offer || t.max_bytes != pages[i].max)
                        fail_msg("%s: %s, %llu", pages[i].what, trim_offer_to_string(t.offer),
                                 (unsigned long long) t.max_bytes);
        }
}

#define UAS DRIVER_UAS
#define BOT DRIVER_USB_STORAGE

static const struct {
        struct trim_facts t;
        enum driver driver;
        const char *sentence;
} sentences[] = {
        {{TRIM_OFFER_YES, 1, "unmap", 1, TRIM_NOT_KEPT, true},
         UAS,
         "in use: the kernel turned it on by itself. Under usb-storage it would not be, unless it is kept on: "
         "uasctl trim DISK on"},
        {{TRIM_OFFER_UNKNOWN, 0, "unmap", 1, TRIM_NOT_KEPT, true},
         UAS,
         "in use: the kernel turned it on by itself. Under usb-storage it would not be, unless it is kept on: "
         "uasctl --force trim DISK on"},
        {{TRIM_OFFER_NO, 0, "writesame_16", 1, TRIM_NOT_KEPT, true},
         UAS,
         "in use: the kernel turned it on by itself. Under usb-storage it would not be"},
        {{TRIM_OFFER_YES, 1, "unmap", 1, TRIM_KEPT, true},
         UAS,
         "in use under both drivers, because it is kept on"},
        {{TRIM_OFFER_UNKNOWN, 0, "unmap", 1, TRIM_KEPT, true},
         BOT,
         "in use under both drivers, because it is kept on"},
        {{TRIM_OFFER_UNKNOWN, 0, "writesame_16", 1, TRIM_NOT_KEPT, true},
         BOT,
         "in use: the kernel turned it on by itself"},
        {{TRIM_OFFER_YES, 1, "full", 0, TRIM_NOT_KEPT, true},
         UAS,
         "not in use, though the disk offers it (LBPU). To turn it on: uasctl trim DISK on"},
        {{TRIM_OFFER_NO, 0, "full", 0, TRIM_NOT_KEPT, true},
         UAS,
         "not in use: the disk does not offer it"},
        {{TRIM_OFFER_UNKNOWN, 0, "full", 0, TRIM_NOT_KEPT, true}, UAS, "not in use"},
        {{TRIM_OFFER_UNKNOWN, 0, "full", 0, TRIM_NOT_KEPT, true},
         BOT,
         "not in use. Under uas, uasctl shows whether the disk offers it"},
        {{TRIM_OFFER_UNKNOWN, 0, "full", 0, TRIM_KEPT, true},
         BOT,
         "not in use, though it is kept on. udev has not turned it on. To ask it again: uasctl --force trim DISK on"},
        {{TRIM_OFFER_YES, 1, "full", 0, TRIM_KEPT, true, .no_udevd = true},
         BOT,
         "not in use, though the disk offers it (LBPU). Only udev turns it on, and no udevd runs here"},
        {{TRIM_OFFER_YES, 1, "full", 0, TRIM_KEPT_FOR_ANOTHER, true},
         UAS,
         "not in use: it was turned on for another disk behind this bridge. To keep it on for this one: uasctl trim DISK on"},
        {{TRIM_OFFER_YES, 1, "unmap", 1, TRIM_KEPT_FOR_ANOTHER, true},
         UAS,
         "in use: the kernel turned it on by itself. To keep it on for this one: uasctl trim DISK on"},
        {{TRIM_OFFER_UNKNOWN, 1, "full", 0, TRIM_KEPT_FOR_ANOTHER, true},
         BOT,
         "not in use: it was turned on for another disk behind this bridge. Under uas, uasctl shows whether the disk offers it"},
        {{TRIM_OFFER_NO, 1, "full", 0, TRIM_NOT_OFFERED, true},
         UAS,
         "not in use: the disk does not offer it"},
        {{TRIM_OFFER_UNKNOWN, 0, "", 0, TRIM_NOT_KEPT, true},
         UAS,
         "not possible: the kernel sends TRIM only to disks"},
        /* The disk offers only one of the drivers. */
        {{TRIM_OFFER_UNKNOWN, 0, "full", 0, TRIM_NOT_KEPT, false}, BOT, "not in use"},
        {{TRIM_OFFER_YES, 1, "unmap", 1, TRIM_NOT_KEPT, false},
         UAS,
         "in use: the kernel turned it on by itself"},
};

static void test_sentences(void **state)
{
        char text[256];

        for (size_t i = 0; i < ELEMENTSOF(sentences); i++)
                assert_string_equal(
                        trim_sentence(&sentences[i].t, sentences[i].driver, text, sizeof(text)),
                        sentences[i].sentence);
}

static void test_ends(void **state)
{
        assert_true(trim_ends(&(struct trim_facts){.used_bytes = 1, .choice = true}));
        assert_true(trim_ends(&(struct trim_facts){
                .used_bytes = 1, .choice = true, .kept = TRIM_KEPT_FOR_ANOTHER}));
        assert_false(trim_ends(
                &(struct trim_facts){.used_bytes = 1, .choice = true, .kept = TRIM_KEPT}));
        assert_false(trim_ends(&(struct trim_facts){.used_bytes = 0, .choice = true}));
        assert_false(trim_ends(&(struct trim_facts){.used_bytes = 1}));
}

static void test_medium(void **state)
{
        static const struct {
                struct trim_medium kept, now;
                bool same;
        } table[] = {
                {{5, 6, 7}, {5, 6, 7}, true},  {{5, 6, 7}, {5, 6, 0}, true},
                {{5, 6, 0}, {5, 6, 7}, true},  {{5, 6, 7}, {5, 6, 8}, false},
                {{5, 6, 7}, {5, 7, 7}, false}, {{5, 6, 7}, {6, 6, 7}, false},
                {{0, 6, 7}, {0, 6, 7}, false}, {{0, 0, 0}, {5, 6, 7}, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (trim_medium_same(&table[i].kept, &table[i].now) != table[i].same)
                        fail_msg("row %zu", i);
        assert_true(trim_hash(0, "", 0) != 0);
        /* FNV-1a; another hash would not know the files of earlier versions */
        assert_true(trim_hash(0, "foobar", 6) == UINT64_C(0x85944171f73967e8));
        assert_true(trim_hash(trim_hash(0, "a", 2), "b", 2) == trim_hash(0, "a\0b", 4));
        assert_true(trim_hash(0, "ab", 3) != trim_hash(0, "ba", 3));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_medium),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_sentences),
                cmocka_unit_test(test_ends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
