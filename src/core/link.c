/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/link.h"

#include <sys/param.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"

#define BCD_USB_WITH_BOS 0x0210

/* ---- the speed of a device ---- */

/* USB 3.2, 9.6.2 */
enum {
        DT_BOS = 0x0f,
        DT_CAPABILITY = 0x10,
        CAPABILITY_SUPERSPEED = 0x03,
        CAPABILITY_SUPERSPEED_PLUS = 0x0a,
        BOS_SIZE = 5,
        SUPERSPEED_SIZE = 10,
        SUPERSPEED_PLUS_SIZE = 12, /* without its sublinks */
        SUBLINK_SIZE = 4,
        SPEEDS_5_GBPS = 1 << 3,
        LANE_MAX_MBPS = 10000, /* Gen 2: a sublink is one lane */
};

/* Mantissa times a power of 1000 bit/s. */
static unsigned sublink_speed(const uint8_t *p)
{
        unsigned mantissa = (unsigned) (p[2] | p[3] << 8), exponent = p[0] >> 4 & 3, mbps = 0;

        if (exponent == 2)
                mbps = mantissa;
        else if (exponent == 3)
                mbps = mantissa * 1000;
        return mbps <= LANE_MAX_MBPS ? mbps : 0;
}

static unsigned capability_speed(const uint8_t *p)
{
        unsigned top = 0, n;

        if (p[2] == CAPABILITY_SUPERSPEED && p[0] >= SUPERSPEED_SIZE)
                return p[4] & SPEEDS_5_GBPS ? 5000 : 0;
        if (p[2] != CAPABILITY_SUPERSPEED_PLUS || p[0] < SUPERSPEED_PLUS_SIZE)
                return 0;
        n = (p[4] & 0x1fU) + 1;
        for (unsigned at = SUPERSPEED_PLUS_SIZE; n > 0 && at + SUBLINK_SIZE <= p[0];
             n--, at += SUBLINK_SIZE) {
                unsigned speed = sublink_speed(p + at);

                if (speed > top)
                        top = speed;
        }
        return top;
}

/* Returns 0 if it is below SuperSpeed. */
static unsigned bos_max_speed(const uint8_t *p, size_t n)
{
        unsigned top = 0;

        for (; n >= 3 && p[0] >= 3 && p[0] <= n; n -= p[0], p += p[0]) {
                unsigned speed;

                if (p[1] != DT_CAPABILITY)
                        continue;
                speed = capability_speed(p);
                if (speed > top)
                        top = speed;
        }
        return top;
}

unsigned usb_version_bcd(const char *version)
{
        unsigned long long major, minor;

        version += strspn(version, " ");
        if (take_uint(&version, 16, 0xff, &major) < 0 || *version++ != '.' ||
            take_uint(&version, 16, 0xff, &minor) < 0 || *version)
                return 0;
        return (unsigned) (major << 8 | minor);
}

unsigned device_max_speed(const void *bos, size_t size, const char *usb_version, unsigned link_mbps)
{
        const uint8_t *p = bos;
        bool has_bos = p && size >= BOS_SIZE && p[0] >= BOS_SIZE && p[0] <= size && p[1] == DT_BOS;
        unsigned bcd = usb_version_bcd(usb_version), top = 0;

        if (has_bos)
                top = bos_max_speed(p + p[0], size - p[0]);
        if (top > 0)
                return MAX(top, link_mbps);
        /* The reason of a slower link is unknown. At a faster one, bcdUSB or the BOS is wrong. */
        if (link_mbps != 480)
                return 0;
        if (has_bos)
                return 480;
        /* A faster device has 2.10 here and a BOS, but this kernel does not show the BOS. Some
         * devices have 3.x nevertheless. */
        if (bcd >= 0x0300)
                return 5000;
        if (bcd > 0 && bcd <= 0x0200)
                return 480;
        return 0;
}

/* ---- what limits its link ---- */

static const char *const link_limit_names[_LINK_LIMIT_MAX] = {
        [LINK_LIMIT_NONE] = "none",
        [LINK_LIMIT_CABLE] = "cable",
        [LINK_LIMIT_PORT] = "port",
        [LINK_LIMIT_HUB] = "hub",
        [LINK_LIMIT_HUB_CABLE] = "hub-cable",
        [LINK_LIMIT_HUB_PORT] = "hub-port",
        [LINK_LIMIT_CONTROLLER] = "controller",
        [LINK_LIMIT_UNKNOWN] = "unknown",
};

DEFINE_TO_STRING(link_limit)

const char *link_able_to_string(enum link_able v)
{
        switch (v) {
        case LINK_ABLE:
                return "yes";
        case LINK_ABLE_PERHAPS:
                return "perhaps";
        case LINK_ABLE_NO:
                break;
        }
        return "no";
}

enum link_able link_able(const struct facts *f)
{
        if (f->speed_mbps >= SUPER_SPEED_MBPS || f->max_speed_mbps >= SUPER_SPEED_MBPS)
                return LINK_ABLE;
        if (f->max_speed_mbps == 0 && usb_version_bcd(f->usb_version) >= BCD_USB_WITH_BOS)
                return LINK_ABLE_PERHAPS;
        return LINK_ABLE_NO;
}

enum link_limit link_limit(const struct link_facts *l, const char **ret_hub)
{
        *ret_hub = "";
        if (l->able == LINK_ABLE_NO || l->speed_mbps >= SUPER_SPEED_MBPS)
                return LINK_LIMIT_NONE;
        if (l->controller_mbps > 0 && l->controller_mbps < SUPER_SPEED_MBPS)
                return LINK_LIMIT_CONTROLLER;
        /* For a hub without a SuperSpeed side the limit is at its own upstream port. */
        for (size_t i = 0; i < l->n_steps; i++) {
                const struct link_step *s = l->steps + i;

                if (s->peer == LINK_PEER_THERE)
                        return i ? LINK_LIMIT_HUB_CABLE : LINK_LIMIT_CABLE;
                if (s->root && s->peer == LINK_PEER_NONE)
                        return i ? LINK_LIMIT_HUB_PORT : LINK_LIMIT_PORT;
                if (s->root || s->hub_bcd_usb == 0)
                        break;
                *ret_hub = s->hub;
                if (s->hub_bcd_usb < BCD_USB_WITH_BOS)
                        return LINK_LIMIT_HUB;
        }
        *ret_hub = "";
        return LINK_LIMIT_UNKNOWN;
}

/* The name is that of the hub that limits it. */
static const char *const remedies[_LINK_LIMIT_MAX] = {
        [LINK_LIMIT_CABLE] =
                "Its port has a SuperSpeed side: try another USB 3 cable, and plug it in all the way.",
        [LINK_LIMIT_PORT] = "Its port has no SuperSpeed side: plug it into a USB 3 port.",
        [LINK_LIMIT_HUB] = WITH_NAME(
                "It is behind the USB 2 hub %s: plug it into a USB 3 port of the machine, or use a USB 3 hub."),
        [LINK_LIMIT_HUB_CABLE] = WITH_NAME(
                "The link of hub %s is as slow, although its port has a SuperSpeed side: try another USB 3 cable between hub and machine."),
        [LINK_LIMIT_HUB_PORT] = WITH_NAME(
                "The port of hub %s has no SuperSpeed side: plug the hub into a USB 3 port."),
        [LINK_LIMIT_CONTROLLER] =
                "Its USB controller has no SuperSpeed: plug it into a port of another controller.",
        [LINK_LIMIT_UNKNOWN] =
                "The cause is the cable, the port or a hub: try a USB 3 port of the machine and another cable.",
};

char *link_advice(const struct link_facts *l, char *ret, size_t size)
{
        char remedy[256];
        const char *hub;
        enum link_limit limit = link_limit(l, &hub);

        ret[0] = '\0';
        if (!remedies[limit])
                return ret;
        (void) sentence_with(remedies[limit], hub, remedy, sizeof(remedy));
        if (l->able == LINK_ABLE)
                (void) sentence(ret, size, "It can do SuperSpeed, but its link has %u Mbit/s. %s",
                                l->speed_mbps, remedy);
        else
                (void) sentence(ret, size,
                                "It seems able to do SuperSpeed, but its link has %u Mbit/s. %s",
                                l->speed_mbps, remedy);
        return ret;
}
