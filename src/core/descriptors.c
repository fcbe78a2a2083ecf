/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/facts.h"

#include <errno.h>
#include <string.h>

enum {
        DT_DEVICE = 0x01,
        DT_CONFIG = 0x02,
        DT_INTERFACE = 0x04,
        DT_ENDPOINT = 0x05,
        DT_PIPE_USAGE = 0x24,
        DT_SS_ENDPOINT_COMPANION = 0x30,
};
enum {
        DEVICE_SIZE = 18,
        CONFIG_SIZE = 9,
        INTERFACE_SIZE = 9,
        ENDPOINT_SIZE = 7,
        COMPANION_SIZE = 6,
};
enum {
        CLASS_MASS_STORAGE = 0x08,
        SUBCLASS_SCSI = 0x06,
        PROTOCOL_BOT = 0x50,
        PROTOCOL_UAS = 0x62,
        ENDPOINTS_MAX = 30,
        PIPE_STATUS = 2,
        STREAMS_LOG2_MAX = 16,
};

struct bytes {
        const uint8_t *p;
        size_t n;
};

/* Returns true if a whole descriptor is at the front. Otherwise the next one cannot be found
 * either. */
static bool descriptor_valid(struct bytes b)
{
        return b.n >= 2 && b.p[0] >= 2 && b.p[0] <= b.n;
}

static void descriptor_skip(struct bytes *b)
{
        size_t n = b->p[0];

        b->p += n;
        b->n -= n;
}

/* Returns the descriptors before the next one of the two types, and removes them from b. */
static struct bytes descriptors_take_until(struct bytes *b, uint8_t type, uint8_t other)
{
        struct bytes taken = *b;

        while (descriptor_valid(*b) && b->p[1] != type && b->p[1] != other)
                descriptor_skip(b);
        taken.n -= b->n;
        return taken;
}

/* The first pipe usage descriptor counts, as in uas_find_endpoints(), which does not check its
 * length. */
static uint8_t endpoint_pipe_id(struct bytes extra)
{
        for (; extra.n >= 3; descriptor_skip(&extra))
                if (extra.p[1] == DT_PIPE_USAGE)
                        return extra.p[2];
        return 0;
}

/* The companion counts only directly behind its endpoint, and only bulk pipes have streams. */
static unsigned endpoint_streams(const uint8_t *endpoint, struct bytes extra)
{
        unsigned log2;

        if ((endpoint[3] & 0x03) != 0x02 || extra.n < COMPANION_SIZE ||
            extra.p[0] < COMPANION_SIZE || extra.p[1] != DT_SS_ENDPOINT_COMPANION)
                return 0;
        log2 = extra.p[3];
        if (log2 > STREAMS_LOG2_MAX)
                log2 = STREAMS_LOG2_MAX;
        if (log2 == 0)
                return 0;
        return 1U << log2;
}

/* Reads the endpoints of one alternate setting: usbcore takes at most the announced number, and
 * each address once. */
static void parse_endpoints(struct bytes b, unsigned announced, struct uas_caps *caps)
{
        bool seen[256] = {}, have[256] = {};
        unsigned n = 0;

        if (announced > ENDPOINTS_MAX)
                announced = ENDPOINTS_MAX;
        (void) descriptors_take_until(&b, DT_ENDPOINT, DT_INTERFACE);
        while (descriptor_valid(b)) {
                const uint8_t *e = b.p;
                struct bytes extra;
                uint8_t id;

                descriptor_skip(&b);
                extra = descriptors_take_until(&b, DT_ENDPOINT, DT_INTERFACE);
                if (e[0] < ENDPOINT_SIZE || (e[2] & 0x0f) == 0 || seen[e[2]] || n >= announced)
                        continue;
                seen[e[2]] = true;
                n++;
                id = endpoint_pipe_id(extra);
                have[id] = true;
                if (id == PIPE_STATUS)
                        caps->status_streams = endpoint_streams(e, extra);
        }
        caps->pipes = have[1] && have[2] && have[3] && have[4];
        if (!caps->pipes)
                caps->status_streams = 0;
}

static void parse_alternate(const uint8_t *d, struct bytes behind, struct uas_caps *caps)
{
        if (d[5] != CLASS_MASS_STORAGE || d[6] != SUBCLASS_SCSI)
                return;
        if (d[7] == PROTOCOL_BOT && d[3] == 0)
                caps->bot = true;
        if (d[7] == PROTOCOL_UAS && !caps->uas) {
                caps->uas = true;
                caps->uas_alt = d[3];
                parse_endpoints(behind, d[4], caps);
        }
}

static int parse_configuration(struct bytes b, uint8_t interface, struct uas_caps *ret)
{
        bool alternates[256] = {}, found = false;
        struct uas_caps caps = {.alone = true, .max_power = b.p[8]};

        (void) descriptors_take_until(&b, DT_INTERFACE, DT_INTERFACE);
        while (descriptor_valid(b)) {
                const uint8_t *d = b.p;
                struct bytes behind;

                descriptor_skip(&b);
                behind = descriptors_take_until(&b, DT_INTERFACE, DT_INTERFACE);
                if (d[0] < INTERFACE_SIZE)
                        continue;
                if (d[2] != interface) {
                        caps.alone = false;
                        continue;
                }
                found = true;
                if (alternates[d[3]])
                        continue; /* a second one of this number: usbcore keeps the first */
                alternates[d[3]] = true;
                parse_alternate(d, behind, &caps);
        }
        if (!found)
                return -ENOENT;
        *ret = caps;
        return 0;
}

int descriptors_parse(const void *data, size_t size, uint8_t configuration, uint8_t interface,
                      struct uas_caps *ret)
{
        struct bytes b = {data, size};

        /* sysfs shows 18 bytes of it, independent of the length that the device claims */
        if (b.n <= DEVICE_SIZE || b.p[0] < DEVICE_SIZE || b.p[1] != DT_DEVICE)
                return -EBADMSG;
        b.p += DEVICE_SIZE;
        b.n -= DEVICE_SIZE;
        while (b.n > 0) {
                struct bytes c = b;
                size_t total;

                if (!descriptor_valid(b) || b.p[0] < CONFIG_SIZE || b.p[1] != DT_CONFIG)
                        return -EBADMSG;
                total = (size_t) b.p[2] | (size_t) b.p[3] << 8;
                if (total < b.p[0])
                        return -EBADMSG;
                if (total < c.n)
                        /* usbcore cuts off data that it cannot read: there may be less than claimed
                         */
                        c.n = total;
                if (configuration == 0 || b.p[5] == configuration)
                        return parse_configuration(c, interface, ret);
                b.p += c.n;
                b.n -= c.n;
        }
        return -ENOENT;
}
