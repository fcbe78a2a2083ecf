/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/announce.h"

#include <assert.h>

#include "common/exit-codes.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "daemon/manager.h"

int bus_append_text(sd_bus_message *m, const char *s)
{
        size_t size = 4 * strlen(s) + 1;
        _cleanup_free_ char *harmless = malloc(size), *whole = malloc(size);

        if (!harmless || !whole)
                return -ENOMEM;
        (void) sentence_english(harmless_sentence(s, harmless, size), whole, size);
        return sd_bus_message_append_basic(m, 's', whole);
}

char *bus_disk_path(const struct entry *e)
{
        char *path;

        if (sd_bus_path_encode(DISK_PATH_PREFIX, e->life.disk.facts.interface, &path) < 0)
                return NULL;
        return path;
}

struct entry *bus_disk_find(struct manager *m, const char *path)
{
        _cleanup_free_ char *name = NULL;

        if (sd_bus_path_decode(path, DISK_PATH_PREFIX, &name) <= 0)
                return NULL;
        return disk_find(m, name);
}

char *bus_job_path(const struct entry *e, char ret[static JOB_PATH_MAX])
{
        (void) snprintf(ret, JOB_PATH_MAX, JOB_PATH_PREFIX "/%u", e->request.number);
        return ret;
}

struct entry *bus_job_find(const struct manager *m, const char *path)
{
        char own[JOB_PATH_MAX];

        FOREACH_ENTRY (e, m)
                if (e->request.number && streq(bus_job_path(e, own), path))
                        return e;
        return NULL;
}

const char *bus_job_state(const struct entry *e)
{
        if (e->request.code >= 0)
                return "done";
        if (e->life.disk.state == STATE_SWITCHING)
                return "running";
        return "waiting";
}

/* Returns the next connection that gets signals, and advances *i; NULL: no more. */
static sd_bus *bus_next(const struct manager *m, size_t *i)
{
        const struct bus *b = &m->bus;
        sd_bus *bus = NULL;

        for (; !bus && *i <= PEERS_MAX; ++*i)
                if (*i < PEERS_MAX)
                        bus = b->peers[*i];
                else if (b->system && sd_bus_is_ready(b->system) > 0)
                        bus = b->system;
        return bus;
}
#define EMIT(m, emit, ...)                                                                         \
        do {                                                                                       \
                sd_bus *_bus;                                                                      \
                for (size_t _i = 0; (_bus = bus_next((m), &_i));)                                  \
                        (void) emit(_bus, __VA_ARGS__);                                            \
        } while (0)

/* The new values of all properties that make a signal. */
static void bus_emit_changed(const struct manager *m, const char *path, const char *interface)
{
        EMIT(m, sd_bus_emit_properties_changed_strv, path, interface, NULL);
}

/* ---- org.uasd1.Disk and org.uasd1.Manager ---- */

void bus_disk_added(struct entry *e)
{
        _cleanup_free_ char *path = bus_disk_path(e);

        EMIT(e->manager, sd_bus_emit_interfaces_added, path, UASD_BUS_DISK, NULL);
        e->announced =
                true; /* before it, users_cache_refresh() searches only the users of this disk */
}

void bus_disk_removed(struct entry *e)
{
        _cleanup_free_ char *path = bus_disk_path(e);

        if (e->announced)
                EMIT(e->manager, sd_bus_emit_interfaces_removed, path, UASD_BUS_DISK, NULL);
        e->announced = false;
}

void bus_disk_changed(struct entry *e)
{
        _cleanup_free_ char *path = NULL;

        if (!e->announced)
                return;
        path = bus_disk_path(e);
        if (path)
                bus_emit_changed(e->manager, path, UASD_BUS_DISK);
}

void bus_inhibitors_changed(struct manager *m)
{
        bus_emit_changed(m, UASD_BUS_PATH, UASD_BUS_MANAGER);
}

/* ---- org.uasd1.Job ---- */

static void job_changed(struct entry *e)
{
        char path[JOB_PATH_MAX];

        e->request.reported_state = bus_job_state(e);
        bus_emit_changed(e->manager, bus_job_path(e, path), UASD_BUS_JOB);
}

void bus_request_added(struct entry *e)
{
        char path[JOB_PATH_MAX];

        e->request.reported_state = bus_job_state(e);
        EMIT(e->manager, sd_bus_emit_interfaces_added, bus_job_path(e, path), UASD_BUS_JOB, NULL);
}

void bus_request_changed(struct entry *e)
{
        if (!e->request.number || streq(e->request.reported_state, bus_job_state(e)))
                return;
        e->request.step[0] = '\0';
        job_changed(e);
}

void bus_request_step(struct entry *e, const char *step)
{
        if (!e->request.number)
                return;
        (void) copy_string(e->request.step, sizeof(e->request.step), step);
        job_changed(e);
}

void bus_request_done(struct entry *e, int code, const char *step, const char *text)
{
        char path[JOB_PATH_MAX], parts[2048], whole[2048];

        assert(e->request.number != 0);
        e->request.code = code < 0 ? UASD_EXIT_FAILED : code;
        (void) copy_string(e->request.step, sizeof(e->request.step), step);
        job_changed(e);
        (void) harmless_sentence(text, parts, sizeof(parts));
        EMIT(e->manager, sd_bus_emit_signal, UASD_BUS_PATH, UASD_BUS_MANAGER, "JobRemoved",
             "osisss", bus_job_path(e, path), e->life.disk.facts.interface, e->request.code, step,
             sentence_english(parts, whole, sizeof(whole)), parts);
        e->request.number = 0;
        e->request.pending = false;
        EMIT(e->manager, sd_bus_emit_interfaces_removed, path, UASD_BUS_JOB, NULL);
}
