/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/announce.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/util.h"

int bus_append_text(sd_bus_message *m, const char *s)
{
        size_t size = 4 * strlen(s) + 1;
        _cleanup_free_ char *harmless = malloc(size);

        return harmless ? sd_bus_message_append_basic(m, 's', harmless_sentence(s, harmless, size)) : -ENOMEM;
}

char *bus_disk_path(const struct entry *e)
{
        char *path;

        return sd_bus_path_encode(DISK_PATH_PREFIX, e->life.disk.facts.interface, &path) < 0 ? NULL : path;
}

void bus_job_path(const struct entry *e, char ret[static JOB_PATH_MAX])
{
        (void) snprintf(ret, JOB_PATH_MAX, JOB_PATH_PREFIX "/%u", e->request.number);
}

const char *bus_job_state(const struct entry *e)
{
        return e->request.code >= 0 ? "done" : e->life.disk.state == STATE_SWITCHING ? "running" : "waiting";
}

typedef int (*emit_fn)(sd_bus *bus, const char *path, void *data);

static void emit(struct manager *m, const char *path, emit_fn emit_on, void *data)
{
        struct bus *b = m->bus;

        if (!path || !b)
                return;
        if (b->system && sd_bus_is_ready(b->system) > 0)
                (void) emit_on(b->system, path, data);
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (b->peers[i])
                        (void) emit_on(b->peers[i], path, data);
}

/* ---- org.uasd1.Disk and org.uasd1.Manager ---- */

static int disk_added(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_interfaces_added(bus, path, UASD_BUS_DISK, NULL);
}

static int disk_removed(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_interfaces_removed(bus, path, UASD_BUS_DISK, NULL);
}

static int disk_changed(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_properties_changed(bus, path, UASD_BUS_DISK, "Driver", "Policy", "Target", "State", "Reason",
                                              "ReasonId", "Verdict", "History", "Host", "Disks", "Outcome", "Lease", NULL);
}

static void emit_disk(struct entry *e, emit_fn emit_on)
{
        _cleanup_free_ char *path = e->announced ? bus_disk_path(e) : NULL;

        emit(e->manager, path, emit_on, NULL);
}

void bus_disk_added(struct entry *e)
{
        _cleanup_free_ char *path = bus_disk_path(e);

        emit(e->manager, path, disk_added, NULL);
        e->announced = true;
}

void bus_disk_removed(struct entry *e)
{
        emit_disk(e, disk_removed);
        e->announced = false;
}

void bus_disk_changed(struct entry *e)
{
        emit_disk(e, disk_changed);
}

static int inhibitors_changed(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_properties_changed(bus, path, UASD_BUS_MANAGER, "Inhibitors", NULL);
}

void bus_inhibitors_changed(struct manager *m)
{
        emit(m, UASD_BUS_PATH, inhibitors_changed, NULL);
}

/* ---- org.uasd1.Job ---- */

static int job_added(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_interfaces_added(bus, path, UASD_BUS_JOB, NULL);
}

static int job_changed(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_properties_changed(bus, path, UASD_BUS_JOB, "Disk", "State", "Step", "Result", NULL);
}

static int job_removed(sd_bus *bus, const char *path, void *data)
{
        return sd_bus_emit_interfaces_removed(bus, path, UASD_BUS_JOB, NULL);
}

static void emit_job(struct entry *e, emit_fn emit_on)
{
        char path[JOB_PATH_MAX];

        e->request.told = bus_job_state(e);
        bus_job_path(e, path);
        emit(e->manager, path, emit_on, NULL);
}

void bus_request_added(struct entry *e, enum driver target)
{
        e->request.from = e->life.disk.facts.driver;
        e->request.to = target;
        e->request.code = -1;
        e->request.step[0] = '\0';
        emit_job(e, job_added);
}

void bus_request_changed(struct entry *e)
{
        if (!e->request.number || streq(e->request.told, bus_job_state(e)))
                return;
        e->request.step[0] = '\0';
        emit_job(e, job_changed);
}

void bus_request_step(struct entry *e, const char *step)
{
        if (!e->request.number)
                return;
        (void) copy_string(e->request.step, sizeof(e->request.step), step);
        emit_job(e, job_changed);
}

struct job_end {
        const char *disk, *step;
        int code;
        char text[1024];
};

static int job_ended(sd_bus *bus, const char *path, void *data)
{
        const struct job_end *end = data;

        return sd_bus_emit_signal(bus, UASD_BUS_PATH, UASD_BUS_MANAGER, "JobRemoved", "osiss", path, end->disk, end->code,
                                  end->step, end->text);
}

void bus_request_done(struct entry *e, int code, const char *step, const char *text)
{
        struct job_end end = {.disk = e->life.disk.facts.interface, .step = step, .code = code < 0 ? UASD_EXIT_FAILED : code};
        char path[JOB_PATH_MAX];

        assert(e->request.number != 0);
        (void) harmless_sentence(text, end.text, sizeof(end.text));
        bus_job_path(e, path);
        e->request.code = end.code;
        (void) copy_string(e->request.step, sizeof(e->request.step), step);
        emit_job(e, job_changed);
        emit(e->manager, path, job_ended, &end);
        e->request.number = 0;
        e->request.pending = false;
        emit(e->manager, path, job_removed, NULL);
}
