/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The quirks string of usb_storage, which any program may have written. A bridge first, then the
 * string. */
#include "core/quirks.h"

#include "fuzz.h"

enum { HEAD = 11 };

static bool letters_well_formed(const char *s)
{
        for (; *s; s++)
                if (*s < 'a' || *s > 'z' || (s[1] && s[1] <= *s))
                        return false;
        return true;
}

/* The entry that a switch writes makes the target possible, concerns only this bridge, and can be
 * removed. */
static void check_entry(const char *string, const struct bridge *b, enum driver target)
{
        char entry[QUIRK_ENTRY_MAX], again[QUIRK_ENTRY_MAX], letters[QUIRK_ENTRY_MAX],
                before[QUIRK_ENTRY_MAX];
        char with[QUIRKS_MAX + 1], without[QUIRKS_MAX + 1];
        uint16_t other = (uint16_t) (b->pid + 1);
        int k = quirks_entry(string, b, target, entry), r;

        CHECK(k == 0 || k == 1);
        CHECK(strlen(entry) < QUIRK_ENTRY_MAX && (k == 1) == (entry[0] != '\0'));
        r = quirks_prepend(string, entry, with);
        CHECK(r == 0 || r == -ENOSPC);
        if (k == 0 || r < 0)
                return;
        CHECK(quirks_find(with, b->vid, b->pid, letters) == 1 && letters_well_formed(letters));
        CHECK((strchr(letters, 'u') != NULL) == (target == DRIVER_USB_STORAGE));
        CHECK(quirks_entry(with, b, target, again) == 0);
        r = quirks_find(string, b->vid, other, before);
        CHECK(quirks_find(with, b->vid, other, letters) == r && streq(letters, before));
        CHECK(quirks_remove(with, entry, without) == 1);
        CHECK(streq(without, string));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char letters[QUIRK_ENTRY_MAX], without[QUIRKS_MAX + 1], *text, *rest, *string, *entry;
        struct bridge b = {0};
        struct kernel_flags flags;
        int r;

        if (size < HEAD)
                return 0;
        b = (struct bridge){
                .vid = (uint16_t) (data[0] | data[1] << 8),
                .pid = (uint16_t) (data[2] | data[3] << 8),
                .bcd = (uint16_t) (data[4] | data[5] << 8),
                .speed_mbps = data[6] & 1 ? 5000 : 480,
                .status_streams = data[7] & 0x1f ? 1U << (data[7] & 0x1f) : 0,
                .max_power = data[8],
                .manufacturer = data[9] & 1 ? "HIKSEMI" : NULL,
                .product = data[9] & 2 ? "MD202" : NULL,
        };
        text = fuzz_text(data + HEAD, size - HEAD);
        rest = text;
        string = fuzz_field(&rest, '\n');
        entry = fuzz_field(&rest, '\n');

        kernel_flags(&b, &flags);
        CHECK(letters_well_formed(flags.letters) && !strchr(flags.letters, 'u'));
        r = quirks_find(string, b.vid, b.pid, letters);
        CHECK(r == 0 || r == 1);
        CHECK(letters_well_formed(letters) && (r == 1 || letters[0] == '\0'));
        if (strlen(string) <= QUIRKS_MAX) {
                check_entry(string, &b, DRIVER_UAS);
                check_entry(string, &b, DRIVER_USB_STORAGE);
        }
        r = quirks_remove(string, entry ? entry : "", without);
        CHECK(r == 0 || r == 1);
        CHECK(r == 1 || strncmp(without, string, QUIRKS_MAX) == 0);
        free(text);
        return 0;
}
