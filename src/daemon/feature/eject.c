/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/eject.h"

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "daemon/queue.h"
#include "daemon/work/child.h"

/*
 * A uasd-switch that ejects a disk. It waits for a switch that is under way, and takes the lock of the disk. So a switch that is
 * wanted meanwhile finds the lock held, as that of a foreign switch. The entry is removed when the disk has gone, like that of a
 * disk that was unplugged.
 */
struct eject {
        struct manager *manager;
        char interface[INTERFACE_NAME_MAX];
        sd_bus_message *call; /* to be answered */
};

static void on_end(void *data, const struct child_end *end)
{
        _cleanup_free_ struct eject *j = data;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = j->call;
        const struct outcome *o = end->outcome;
        char text[sizeof(o->text) * 4];
        const char *error = o->code == UASD_EXIT_DEFERRED  ? UASD_BUS_ERROR_IN_USE
                            : o->code == UASD_EXIT_REFUSED ? UASD_BUS_ERROR_REFUSED
                            : o->code == UASD_EXIT_NO_DISK ? UASD_BUS_ERROR_NO_SUCH_DISK
                                                           : SD_BUS_ERROR_FAILED;

        (void) make_harmless(o->text[0] ? o->text : "uasd-switch has died", text, sizeof(text));
        if (o->code == UASD_EXIT_OK)
                (void) sd_bus_reply_method_return(call, NULL);
        else
                (void) sd_bus_reply_method_errorf(call, error, "%s cannot be ejected: %s", j->interface, text);
        log_notice("%s: %s%s", j->interface, o->code == UASD_EXIT_OK ? "" : "not ejected: ", text);
        queue_rescan(j->manager, j->interface);
}

int eject_new(struct entry *e, sd_bus_message *call)
{
        const char *const args[] = {"--eject", e->life.disk.facts.interface, NULL};
        struct eject *j = calloc(1, sizeof(*j));
        struct child *child;
        int r;

        if (!j)
                return -ENOMEM;
        j->manager = e->manager;
        memcpy(j->interface, e->life.disk.facts.interface, sizeof(j->interface));
        r = child_switch(e->manager, args, false, NULL, on_end, j, &child);
        if (r < 0) {
                free(j);
                return r;
        }
        j->call = sd_bus_message_ref(call);
        return 0;
}
