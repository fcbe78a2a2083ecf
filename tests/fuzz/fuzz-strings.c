/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names from devices and users, on their way to a terminal or the journal; and the parsers of
 * names. */
#include <limits.h>

#include "core/facts.h"
#include "fuzz.h"
#include "sys/usb/usbdisk.h"

/* Valid UTF-8, and no byte that a terminal interprets. */
static void check_harmless(const char *s)
{
        for (const unsigned char *p = (const unsigned char *) s; *p; p++) {
                size_t more = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;

                CHECK(*p >= 0x20 && *p != 0x7f && *p != 0xc0 && *p != 0xc1 && *p < 0xf5);
                CHECK(*p < 0x80 || *p >= 0xc0);
                CHECK(!(*p == 0xc2 &&
                        p[1] < 0xa0)); /* C1 controls: some terminals interpret these, too */
                while (more-- > 0) {
                        p++;
                        CHECK((*p & 0xc0) == 0x80);
                }
        }
}

static bool plain(const char *s)
{
        for (; *s; s++)
                if (*s < 0x20 || *s == 0x7f || *s == '\\' || (*s & 0x80))
                        return false;
        return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size), *whole = malloc(size * 4 + 5), small[24];
        unsigned long long v = 0;
        size_t n;

        CHECK(whole);
        make_harmless(text, whole, size * 4 + 5);
        check_harmless(whole);
        CHECK(!plain(text) || streq(text, whole));
        make_harmless(text, small, sizeof(small));
        n = strlen(small);
        check_harmless(small);
        CHECK(n < sizeof(small) && strncmp(small, whole, n) == 0);

        if (interface_name_valid(text)) {
                CHECK(strlen(text) < INTERFACE_NAME_MAX && !strpbrk(text, "/%@ \n") &&
                      strchr(text, ':'));
                CHECK(text[0] != '.');
        }
        if (parse_uint(text, 10, ULLONG_MAX, &v) == 0) {
                (void) snprintf(small, sizeof(small), "%llu", v);
                CHECK(streq(small, text + strspn(text, "0")) ||
                      (v == 0 && strspn(text, "0") == strlen(text)));
        }
        if (parse_uint(text, 16, 0xffff, &v) == 0)
                CHECK(v <= 0xffff);
        free(whole);
        free(text);
        return 0;
}
