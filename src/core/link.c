/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/link.h"

#include "common/util.h"
#include "core/bos.h"

#define BCD_USB_WITH_BOS 0x0210

static const char *const limits[_LINK_LIMIT_MAX] = {
        [LINK_LIMIT_NONE] = "none",
        [LINK_LIMIT_CABLE] = "cable",
        [LINK_LIMIT_PORT] = "port",
        [LINK_LIMIT_HUB] = "hub",
        [LINK_LIMIT_HUB_CABLE] = "hub-cable",
        [LINK_LIMIT_HUB_PORT] = "hub-port",
        [LINK_LIMIT_CONTROLLER] = "controller",
        [LINK_LIMIT_UNKNOWN] = "unknown",
};

const char *link_limit_to_string(enum link_limit v)
{
        return limits[v];
}

const char *link_able_to_string(enum link_able v)
{
        return v == LINK_ABLE ? "yes" : v == LINK_ABLE_PERHAPS ? "perhaps" : "no";
}

enum link_able link_able(const struct facts *f)
{
        if (f->speed_mbps >= SUPER_SPEED_MBPS || f->max_speed_mbps >= SUPER_SPEED_MBPS)
                return LINK_ABLE;
        return f->max_speed_mbps == 0 && usb_version_bcd(f->usb_version) >= BCD_USB_WITH_BOS ? LINK_ABLE_PERHAPS : LINK_ABLE_NO;
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

char *link_advice(const struct link_facts *l, char *ret, size_t size)
{
        const char *hub;
        enum link_limit limit = link_limit(l, &hub);
        char because[256] = "";

        ret[0] = '\0';
        switch (limit) {
        case LINK_LIMIT_NONE:
        case _LINK_LIMIT_MAX:
                return ret;
        case LINK_LIMIT_CABLE:
                (void) snprintf(because, sizeof(because),
                                "Its port has a SuperSpeed side: try another USB 3 cable, and plug it in all the way.");
                break;
        case LINK_LIMIT_PORT:
                (void) snprintf(because, sizeof(because), "Its port has no SuperSpeed side: plug it into a USB 3 port.");
                break;
        case LINK_LIMIT_HUB:
                (void) snprintf(because, sizeof(because),
                                "It is behind the USB 2 hub %s: plug it into a USB 3 port of the machine, or use a USB 3 hub.",
                                hub);
                break;
        case LINK_LIMIT_HUB_CABLE:
                (void) snprintf(
                        because, sizeof(because),
                        "The link of hub %s is as slow, although its port has a SuperSpeed side: try another USB 3 cable between hub and machine.",
                        hub);
                break;
        case LINK_LIMIT_HUB_PORT:
                (void) snprintf(because, sizeof(because),
                                "The port of hub %s has no SuperSpeed side: plug the hub into a USB 3 port.", hub);
                break;
        case LINK_LIMIT_CONTROLLER:
                (void) snprintf(because, sizeof(because),
                                "Its USB controller has no SuperSpeed: plug it into a port of another controller.");
                break;
        case LINK_LIMIT_UNKNOWN:
                (void) snprintf(because, sizeof(because),
                                "The cause is the cable, the port or a hub: try a USB 3 port of the machine and another cable.");
                break;
        }
        (void) snprintf(ret, size, "It %s SuperSpeed, but its link has %u Mbit/s. %s",
                        l->able == LINK_ABLE ? "can do" : "seems able to do", l->speed_mbps, because);
        return ret;
}
