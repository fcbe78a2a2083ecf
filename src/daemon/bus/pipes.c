/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/announce.h"
#include "daemon/feature/inhibit.h"
#include "daemon/feature/lease.h"

/* org.uasd1.Manager: requests that last as long as a descriptor is open. */

int bus_inhibit(struct call *c)
{
        _cleanup_close_ int fd = -1; /* the message has its own copy */
        int r = inhibit_add(c->manager, c->words[0], c->words[1], c->words[2], &fd);

        if (r == -EBUSY)
                return sd_bus_error_set(c->error, SD_BUS_ERROR_LIMITS_EXCEEDED, "There are too many inhibitors already.");
        return r < 0 ? r : sd_bus_reply_method_return(c->message, "h", fd);
}

int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error)
{
        const struct manager *m = data;
        const struct inhibitor *i;
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        TAILQ_FOREACH (i, &m->inhibitors, link)
                if (r >= 0)
                        r = sd_bus_message_append(reply, "(sss)", i->disk, i->who, i->why); /* harmless already */
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_check_lease(struct call *c)
{
        const struct disk *d = &c->entry->life.disk;
        const char *id = d->facts.interface;
        int r = bus_refuse_stopping(c);

        if (r >= 0)
                r = bus_refuse_impossible(c, DRIVER_USB_STORAGE);
        if (r < 0)
                return r;
        if (d->facts.driver != DRIVER_UAS && d->facts.driver != DRIVER_USB_STORAGE)
                return sd_bus_error_setf(c->error, UASD_BUS_ERROR_REFUSED, "%s has no driver to measure.", id);
        if (c->entry->lease)
                return sd_bus_error_setf(c->error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s", id, d->lease);
        r = bus_refuse_starting(c);
        if (r < 0)
                return r;
        if (d->state == STATE_HELD || d->state == STATE_SWITCHING || c->entry->request.number)
                return sd_bus_error_setf(c->error, UASD_BUS_ERROR_IN_USE,
                                         "%s: a switch of it is under way or has been asked for.", id);
        return 0;
}

/* The answer comes later, with the claim. */
int bus_lease(struct call *c)
{
        return lease_new(c->entry, c->message);
}
