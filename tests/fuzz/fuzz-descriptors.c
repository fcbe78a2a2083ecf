/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors as sysfs shows them: the device wrote them. The first two bytes: configuration and
 * interface. */
#include "core/facts.h"
#include "core/link.h"

#include "fuzz.h"

enum { DEVICE_SIZE = 18 };

static int parse(const uint8_t *data, size_t size, uint8_t configuration, uint8_t interface,
                 struct uas_caps *ret)
{
        /* The exact size lets ASan detect a read past the end. */
        uint8_t *exact = malloc(size ? size : 1);
        int r;

        CHECK(exact);
        memcpy(exact, data, size);
        r = descriptors_parse(exact, size, configuration, interface, ret);
        free(exact);
        return r;
}

static bool same(const struct uas_caps *a, const struct uas_caps *b)
{
        return a->bot == b->bot && a->uas == b->uas && a->pipes == b->pipes &&
               a->uas_alt == b->uas_alt && a->max_power == b->max_power &&
               a->status_streams == b->status_streams;
}

/* The same bytes as a BOS. */
static void check_max_speed(const uint8_t *data, size_t size)
{
        uint8_t *exact = malloc(size ? size : 1);
        unsigned max;

        CHECK(exact);
        memcpy(exact, data, size);
        max = device_max_speed(exact, size, "2.10", 480);
        CHECK(max == 0 || (max >= 480 && max <= 10000));
        free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct uas_caps caps = {.status_streams = 12345}, again;
        uint8_t configuration, interface;
        size_t total;
        int r;

        if (size < 2)
                return 0;
        configuration = data[0];
        interface = data[1];
        data += 2;
        size -= 2;
        check_max_speed(data, size);
        r = parse(data, size, configuration, interface, &caps);
        CHECK(r == 0 || r == -EBADMSG || r == -ENOENT);
        if (r < 0) {
                CHECK(caps.status_streams == 12345); /* written only on success */
                return 0;
        }
        CHECK(!caps.pipes || caps.uas);
        CHECK(caps.uas || caps.uas_alt == 0);
        CHECK(caps.pipes || caps.status_streams == 0);
        CHECK(caps.status_streams <= 65536 &&
              (caps.status_streams & (caps.status_streams - 1)) == 0);

        /* Bytes after the selected configuration have no effect. */
        total = (size_t) data[DEVICE_SIZE + 2] | (size_t) data[DEVICE_SIZE + 3] << 8;
        if (configuration == 0 && DEVICE_SIZE + total < size) {
                CHECK(parse(data, DEVICE_SIZE + total, configuration, interface, &again) == 0);
                CHECK(same(&caps, &again));
        }
        /* The first configuration, selected by its number, gives the same result. */
        if (configuration == 0 && data[DEVICE_SIZE + 5] != 0) {
                CHECK(parse(data, size, data[DEVICE_SIZE + 5], interface, &again) == 0);
                CHECK(same(&caps, &again));
        }
        return 0;
}
