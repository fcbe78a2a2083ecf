/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/exit-codes.h"
#include "common/names.h"
#include "daemon/feature/lease.h"
#include "sys/facts.h"
#include "sys/udev/hwdb.h"

/* The reasons to refuse a call. */

/* A write to the quirks parameter or to the files of uasd makes no uevent. */
void bus_facts_now(const struct entry *e, struct facts *ret)
{
        struct manager *m = e->manager;

        *ret = e->life.disk.facts;
        facts_complete(&m->roots, &m->config, ret);
        facts_complete_hwdb(&m->roots, ret);
}

int bus_refuse_stopping(const struct call *c)
{
        return c->manager->env.stopping ? sd_bus_error_set(c->error, UASD_BUS_ERROR_STOPPING, "The machine is going down.") : 0;
}

int bus_refuse_starting(const struct call *c)
{
        return c->manager->env.booted ? 0
                                      : sd_bus_error_setf(c->error, UASD_BUS_ERROR_IN_USE,
                                                          "%s: the machine is still starting, and may be about to mount it.",
                                                          c->entry->life.disk.facts.interface);
}

int bus_refuse_impossible(const struct call *c, enum driver target)
{
        const struct facts *f = &c->entry->life.disk.facts;
        bool uas = f->caps.uas && f->caps.pipes;

        if (uas && (target != DRIVER_USB_STORAGE || f->caps.bot))
                return 0;
        return sd_bus_error_setf(c->error, UASD_BUS_ERROR_INCAPABLE, "%s: %s", f->interface,
                                 uas ? "this disk speaks only UAS" : "this disk does not offer UAS completely");
}

int bus_refuse(const struct call *c, const struct refusal *no)
{
        const char *name = no->code == UASD_EXIT_INCAPABLE ? UASD_BUS_ERROR_INCAPABLE
                           : no->force_helps               ? UASD_BUS_ERROR_FORCE_NEEDED
                                                           : UASD_BUS_ERROR_REFUSED;

        if (no->code == UASD_EXIT_OK)
                return 0;
        return sd_bus_error_setf(c->error, name, "%s: %s", c->entry->life.disk.facts.interface, refusal_text(no));
}

int bus_refuse_running(const struct entry *e, sd_bus_error *error)
{
        return sd_bus_error_setf(error, UASD_BUS_ERROR_REFUSED,
                                 "%s is being switched, and a switch is not stopped in the middle. A request made "
                                 "meanwhile is carried out next.",
                                 e->life.disk.facts.interface);
}

int bus_leased(const struct call *c)
{
        if (!lease_held(c->entry))
                return 0;
        if (lease_is_of(c->entry, c->message))
                return 1;
        return sd_bus_error_setf(c->error, UASD_BUS_ERROR_IN_USE, "%s is leased: %s", c->words[0], c->entry->life.disk.lease);
}
