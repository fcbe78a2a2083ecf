/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/announce.h"
#include "daemon/bus/polkit.h"
#include "daemon/disks.h"
#include "daemon/feature/inhibit.h"
#include "daemon/feature/lease.h"

/* org.uasd1.Manager: requests that last as long as a descriptor is open. */

#define MAY_BENCH "org.uasd1.bench"

int bus_method_inhibit(sd_bus_message *message, void *data, sd_bus_error *error)
{
        const char *disk, *who, *why;
        struct manager *m = data;
        struct entry *e;
        int fd, r = sd_bus_message_read(message, "sss", &disk, &who, &why);

        if (r < 0)
                return r;
        e = *disk ? disk_find(m, disk) : NULL;
        if (*disk && !e)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_NO_SUCH_DISK, "There is no USB disk %s.", disk);
        r = polkit_may(m, message, MAY_SWITCH, e, bus_method_inhibit, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = inhibit_add(m, disk, who, why, &fd);
        if (r == -EBUSY)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "There are too many inhibitors already.");
        if (r < 0)
                return r;
        r = sd_bus_reply_method_return(message, "h", fd);
        (void) close_keep_errno(fd); /* the message has its own copy */
        return r;
}

static int append_inhibitor(sd_bus_message *reply, const struct inhibitor *i)
{
        const char *texts[] = {i->disk, i->who, i->why};
        int r = sd_bus_message_open_container(reply, 'r', "sss");

        for (size_t t = 0; r >= 0 && t < ELEMENTSOF(texts); t++)
                r = bus_append_text(reply, texts[t]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_get_inhibitors(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                       void *data, sd_bus_error *error)
{
        const struct manager *m = data;
        const struct inhibitor *i;
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        LIST_FOREACH (i, &m->inhibitors, link)
                if (r >= 0)
                        r = append_inhibitor(reply, i);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_leased(const struct entry *e, sd_bus_message *message, sd_bus_error *error)
{
        if (!lease_held(e))
                return 0;
        if (lease_is_of(e, message))
                return 1;
        return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s", e->life.disk.facts.interface,
                                 e->life.disk.lease);
}

/* Refuses a lease for reasons that do not depend on the caller. */
static int refuse_now(const struct manager *m, const struct entry *e, sd_bus_error *error)
{
        const struct disk *d = &e->life.disk;
        const char *id = d->facts.interface;
        int r;

        if (m->env.stopping)
                return sd_bus_error_set(error, UASD_BUS_ERROR_STOPPING, "The machine is going down.");
        r = bus_refuse_impossible(e, DRIVER_USB_STORAGE, error);
        if (r < 0)
                return r;
        if (d->facts.driver != DRIVER_UAS && d->facts.driver != DRIVER_USB_STORAGE)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_REFUSED, "%s has no driver to measure.", id);
        if (e->lease)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s", id, d->lease);
        if (!m->env.booted)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE,
                                         "%s: the machine is still starting, and may be about to mount it.", id);
        if (d->state == STATE_HELD || d->state == STATE_SWITCHING || e->request.number)
                return sd_bus_error_setf(error, UASD_BUS_ERROR_IN_USE, "%s: a switch of it is under way or has been asked for.",
                                         id);
        return 0;
}

/* The answer comes later, with the claim. */
int bus_method_lease(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct manager *m = data;
        struct entry *e;
        int r = bus_read_disk(message, m, &e, error);

        if (r >= 0)
                r = refuse_now(m, e, error);
        if (r < 0)
                return r;
        r = polkit_may(m, message, MAY_BENCH, e, bus_method_lease, error);
        if (r > 0)
                r = lease_new(e, message);
        return r < 0 ? r : 1;
}
