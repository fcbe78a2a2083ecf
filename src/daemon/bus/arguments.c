/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/util.h"
#include "daemon/disks.h"
#include "sys/facts.h"
#include "sys/udev/hwdb.h"

/* The arguments of methods, and the reasons for refusals. */

static int find_disk(struct manager *m, const char *name, struct entry **ret, sd_bus_error *error)
{
        *ret = disk_find(m, name);
        return *ret ? 0 : sd_bus_error_setf(error, UASD_BUS_ERROR_NO_SUCH_DISK, "There is no USB disk %s.", name);
}

int bus_read_disk(sd_bus_message *message, struct manager *m, struct entry **ret, sd_bus_error *error)
{
        const char *name;
        int r = sd_bus_message_read(message, "s", &name);

        return r < 0 ? r : find_disk(m, name, ret, error);
}

/* a{sv}: unknown options are refused, since the caller must know that they have no effect. */
int bus_read_options(sd_bus_message *message, bool *ret_force, sd_bus_error *error)
{
        const char *key;
        int r = sd_bus_message_enter_container(message, 'a', "{sv}"), force = 0;

        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(message, "s", &key);
                if (r >= 0 && !streq(key, "force"))
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "No such option: %s", key);
                if (r >= 0)
                        r = sd_bus_message_read(message, "v", "b", &force);
                if (r == -ENXIO) /* on the bus this error would mean a missing disk */
                        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "The option force is a boolean (b).");
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        *ret_force = force;
        return r < 0 ? r : 0;
}

/* Reads arguments that begin with a disk, a word and options. */
int bus_read_wish(sd_bus_message *message, struct manager *m, struct entry **ret, const char **ret_word, bool *ret_force,
                  sd_bus_error *error)
{
        const char *name;
        int r = sd_bus_message_read(message, "ss", &name, ret_word);

        if (r >= 0)
                r = bus_read_options(message, ret_force, error);
        return r < 0 ? r : find_disk(m, name, ret, error);
}

/* The facts that decide a request, read again: a write to the quirks parameter or to the files of uasd makes no uevent. */
void bus_facts_now(const struct entry *e, struct facts *ret)
{
        struct manager *m = e->manager;

        *ret = e->life.disk.facts;
        facts_complete(&m->roots, &m->config, ret);
        facts_complete_hwdb(&m->roots, ret);
}

int bus_refuse_impossible(const struct entry *e, enum driver target, sd_bus_error *error)
{
        const struct facts *f = &e->life.disk.facts;

        if (!f->caps.uas || !f->caps.pipes || (target == DRIVER_USB_STORAGE && !f->caps.bot))
                return sd_bus_error_setf(error, UASD_BUS_ERROR_INCAPABLE, "%s: %s", f->interface,
                                         f->caps.uas && f->caps.pipes ? "this disk speaks only UAS"
                                                                      : "this disk does not offer UAS completely");
        return 0;
}

int bus_refuse(const struct entry *e, const struct refusal *no, sd_bus_error *error)
{
        const char *name = no->code == UASD_EXIT_INCAPABLE ? UASD_BUS_ERROR_INCAPABLE
                           : no->force_helps               ? UASD_BUS_ERROR_FORCE_NEEDED
                                                           : UASD_BUS_ERROR_REFUSED;

        if (no->code == UASD_EXIT_OK)
                return 0;
        return sd_bus_error_setf(error, name, "%s: %s", e->life.disk.facts.interface, refusal_text(no));
}

int bus_refuse_running(const struct entry *e, sd_bus_error *error)
{
        return sd_bus_error_setf(error, UASD_BUS_ERROR_REFUSED,
                                 "%s is being switched, and a switch is not stopped in the middle. A request made "
                                 "meanwhile is carried out next.",
                                 e->life.disk.facts.interface);
}
