/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/util.h"
#include "daemon/bus/announce.h"
#include "daemon/feature/requests.h"

/* org.uasd1.Job: a request, from its start to its end. Each signal names its disk, for clients without a list of jobs. */

static struct entry *job_of_path(const struct manager *m, const char *path)
{
        char own[JOB_PATH_MAX];

        for (size_t i = 0; i < m->n_entries; i++) {
                bus_job_path(m->entries[i], own);
                if (m->entries[i]->request.number && streq(own, path))
                        return m->entries[i];
        }
        return NULL;
}

/* The words for the exit statuses of uasctl(1). */
static const char *result_of(const struct entry *e)
{
        static const char *const words[] = {
                [UASD_EXIT_OK] = "done",
                [UASD_EXIT_FAILED] = "failed",
                [UASD_EXIT_DEFERRED] = "deferred",
                [UASD_EXIT_NO_DISK] = "no-disk",
                [UASD_EXIT_INCAPABLE] = "incapable",
                [UASD_EXIT_REFUSED] = "refused",
                [UASD_EXIT_ROLLED_BACK] = "rolled-back",
        };
        int code = e->request.code;

        if (code < 0)
                return "";
        return (size_t) code < ELEMENTSOF(words) && words[code] ? words[code] : words[UASD_EXIT_FAILED];
}

static int get_id(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *data,
                  sd_bus_error *error)
{
        return sd_bus_message_append(reply, "u", (uint32_t) ((struct entry *) data)->request.number);
}

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *data,
                    sd_bus_error *error)
{
        const struct entry *e = data;
        const struct {
                const char *name, *value;
        } texts[] = {
                {"Disk", e->life.disk.facts.interface},
                {"From", driver_or_empty(e->request.from)},
                {"To", driver_or_empty(e->request.to)},
                {"State", bus_job_state(e)},
                {"Step", streq(bus_job_state(e), "waiting") ? "" : e->request.step},
                {"Result", result_of(e)},
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (streq(texts[i].name, property))
                        return bus_append_text(reply, texts[i].value);
        return -ENOENT;
}

/* Called again after polkit's answer, with the manager: the job may have ended meanwhile. */
static int cancel(sd_bus_message *message, void *data, sd_bus_error *error)
{
        struct entry *e = job_of_path(data, sd_bus_message_get_path(message));
        int r;

        if (!e)
                return sd_bus_error_set(error, SD_BUS_ERROR_UNKNOWN_OBJECT, "The job has ended.");
        r = polkit_may(data, message, MAY_SWITCH, e, cancel, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = request_cancel(e);
        if (r == -EBUSY)
                return bus_refuse_running(e, error);
        return r < 0 ? r : sd_bus_reply_method_return(message, NULL);
}

static int method_cancel(sd_bus_message *message, void *data, sd_bus_error *error)
{
        return cancel(message, ((struct entry *) data)->manager, error);
}

static const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "u", get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Disk", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("From", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("To", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Step", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_cancel, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static int find_job(sd_bus *bus, const char *path, const char *interface, void *data, void **ret_found, sd_bus_error *error)
{
        *ret_found = job_of_path(data, path);
        return *ret_found != NULL;
}

static int list_jobs(sd_bus *bus, const char *prefix, void *data, char ***ret_nodes, sd_bus_error *error)
{
        struct manager *m = data;
        char **nodes = NULL;
        size_t n = 0;

        for (size_t i = 0; i < m->n_entries; i++) {
                char path[JOB_PATH_MAX];

                bus_job_path(m->entries[i], path);
                if (m->entries[i]->request.number && strv_push(&nodes, &n, path) < 0) {
                        strv_free(nodes);
                        return -ENOMEM;
                }
        }
        *ret_nodes = nodes;
        return 0;
}

int bus_jobs_add(sd_bus *bus, struct manager *m)
{
        int r = sd_bus_add_fallback_vtable(bus, NULL, JOB_PATH_PREFIX, UASD_BUS_JOB, job_vtable, find_job, m);

        return r < 0 ? r : sd_bus_add_node_enumerator(bus, NULL, JOB_PATH_PREFIX, list_jobs, m);
}
