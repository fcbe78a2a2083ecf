/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/methods.h"

#include <assert.h>
#include <limits.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/disk-words.h"
#include "core/property.h"
#include "daemon/feature/inhibit.h"
#include "daemon/feature/switches.h"
#include "daemon/feature/users.h"
#include "sys/io/clock.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/state/trims.h"
#include "sys/usb/link.h"

/* ---- org.uasd1.Disk ---- */

static int append_luns(sd_bus_message *reply, const struct disk *d)
{
        int r = sd_bus_message_open_container(reply, 'a', "(sut)");

        if (r < 0)
                return r;
        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = d->luns + i;

                if (!l->disk.name[0])
                        continue;
                r = sd_bus_message_append(reply, "(sut)", l->disk.name, l->lun, l->size);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

/* A list for several disks has the id of the disk; NULL: it has none. */
static int append_user(sd_bus_message *reply, const char *id, const struct user *u)
{
        /* whole, because uasctl makes a command of it */
        char where[4 * PATH_MAX], command[128], unit[512];

        int r = sd_bus_message_open_container(reply, 'r', id ? "ssssssus" : "sssssus");

        if (r < 0)
                return r;
        if (id) {
                r = sd_bus_message_append(reply, "s", id);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_append(
                reply, "sssssus", user_kind_to_string(u->kind), u->device,
                make_harmless(u->where ?: "", where, sizeof(where)), u->namespace ?: "",
                make_harmless(u->command ?: "", command, sizeof(command)), (uint32_t) u->pid,
                /* names of units may contain a backslash */
                harmless_sentence(u->unit ?: "", unit, sizeof(unit)));
        if (r < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

static int append_users_of(sd_bus_message *reply, const char *id, struct entry *e)
{
        users_cache_refresh(e);
        for (size_t i = 0; i < e->life.disk.n_users; i++) {
                int r = append_user(reply, id, &e->life.disk.users[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int append_users(sd_bus_message *reply, struct entry *e)
{
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(sssssus)");
        if (r < 0)
                return r;
        r = append_users_of(reply, NULL, e);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

/* Reads again what may have changed without an event. */
static void sentence_refresh(const struct disk_property *p, struct entry *e)
{
        struct facts *f = &e->life.disk.facts;

        if (p->say == disk_reason && e->life.disk.state == STATE_WAITING)
                users_cache_refresh(e);
        if (p->say == disk_history && f->initramfs_old) /* it may have been rebuilt meanwhile */
                f->initramfs_old = history_initramfs_old(&e->manager->roots, f);
}

static int append_property(sd_bus_message *reply, const struct disk_property *p, struct entry *e)
{
        const struct disk *d = &e->life.disk;
        const char *at = (const char *) d + p->offset; /* as in a view, which begins with a disk */
        char room[4096], text[2048];

        switch (p->kind) {
        case PROPERTY_HEX:
        case PROPERTY_NUMBER:
                return sd_bus_message_append_basic(reply, *property_types[p->kind], at);
        case PROPERTY_CAPABLE:
                return sd_bus_message_append(reply, "b", facts_offer_uas(&d->facts));
        case PROPERTY_LUNS:
                return append_luns(reply, d);
        case PROPERTY_USERS:
                return append_users(reply, e);
        case PROPERTY_OUTCOME:
                return sd_bus_message_append(
                        reply, "(iss)", d->last_code, d->outcome.step,
                        sentence_english(harmless_sentence(d->outcome.text, text, sizeof(text)),
                                         room, sizeof(room)));
        case PROPERTY_TEXT:
        case _PROPERTY_KIND_MAX:
                break;
        }
        sentence_refresh(p, e);
        if (p->say)
                return bus_append_text(reply, p->say(d, room, sizeof(room)));
        if (p->flags & PROPERTY_FOREIGN)
                return bus_append_text(reply, make_harmless(at, room, sizeof(room)));
        return bus_append_text(reply, at);
}

static int get_property(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *data, sd_bus_error *error)
{
        return append_property(reply, disk_property_find(property), data);
}

#define DISK_VTABLE_MAX 64

/* sd-bus keeps the pointer. */
static const sd_bus_vtable *disk_vtable(void)
{
        static sd_bus_vtable vtable[DISK_VTABLE_MAX] = {SD_BUS_VTABLE_START(0)};

        assert(n_disk_properties + 2 <= DISK_VTABLE_MAX);
        for (size_t i = 0; i < n_disk_properties; i++) {
                const struct disk_property *p = &disk_properties[i];
                uint64_t change = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;

                if (p->flags & PROPERTY_CONST)
                        change = SD_BUS_VTABLE_PROPERTY_CONST;
                if (p->flags & PROPERTY_INVALIDATES)
                        change = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
                if (p->flags & PROPERTY_SILENT)
                        change = 0;
                vtable[i + 1] = (sd_bus_vtable) SD_BUS_PROPERTY(p->name, property_types[p->kind],
                                                                get_property, 0, change);
        }
        vtable[n_disk_properties + 1] = (sd_bus_vtable) SD_BUS_VTABLE_END;
        return vtable;
}

/* ---- properties that are not in the JSON of a disk ---- */

/* Takes no lock of the device. */
static int get_advice(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *data, sd_bus_error *error)
{
        const struct entry *e = data;
        struct link_facts link = {};
        char text[512];

        link_read(&e->manager->roots, &e->life.disk.facts, &link);
        return bus_append_text(reply, link_advice(&link, text, sizeof(text)));
}

/* The setting, not what the kernel does: the queue of a disk that hangs may be locked. */
static int get_trim(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *data, sd_bus_error *error)
{
        const struct entry *e = data;
        const struct disk *d = &e->life.disk;
        uint64_t max;
        bool on = false;

        for (size_t i = 0; i < d->n_luns; i++)
                on = on || (d->luns[i].disk.name[0] &&
                            trims_lookup(&e->manager->roots, &d->facts, d->luns[i].lun,
                                         d->luns[i].disk.name, &max) == TRIM_KEPT);
        return sd_bus_message_append(reply, "s", on ? "on" : "off");
}

static int get_system_disk(sd_bus *bus, const char *path, const char *interface,
                           const char *property, sd_bus_message *reply, void *data,
                           sd_bus_error *error)
{
        struct entry *e = data;

        users_cache_refresh(e);
        return sd_bus_message_append(reply, "b", disk_serves_system(&e->life.disk));
}

static int get_moment(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *data, sd_bus_error *error)
{
        const struct life *l = &((const struct entry *) data)->life;
        usec_t moment = streq(property, "TrialEnds") ? l->trial.until : l->waiting_since;

        return sd_bus_message_append(reply, "t", boottime_to_realtime(moment));
}

/* The same sentences for a program that translates them: in parts, see common/sentence.h. */
static int get_sentences(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *data, sd_bus_error *error)
{
        static const char *const names[] = {"Reason", "History", "Diagnosis", "Outcome", "Advice"};
        struct entry *e = data;
        const struct disk *d = &e->life.disk;
        struct link_facts link = {};
        char room[4096], text[8192];
        int r = sd_bus_message_open_container(reply, 'a', "{ss}");

        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const struct disk_property *p = disk_property_find(names[i]);
                const char *said = d->outcome.text;

                if (!p) {
                        link_read(&e->manager->roots, &d->facts, &link);
                        said = link_advice(&link, room, sizeof(room));
                } else if (p->say) {
                        sentence_refresh(p, e);
                        said = p->say(d, room, sizeof(room));
                }
                if (isempty(said))
                        continue;
                r = sd_bus_message_append(reply, "{ss}", names[i],
                                          harmless_sentence(said, text, sizeof(text)));
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

static const sd_bus_vtable disk_more_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Advice", "s", get_advice, 0, SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("Sentences", "a{ss}", get_sentences, 0,
                        SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("Trim", "s", get_trim, 0, SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("SystemDisk", "b", get_system_disk, 0, 0),
        SD_BUS_PROPERTY("TrialEnds", "t", get_moment, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("WaitingSince", "t", get_moment, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

/* The end of a trial or hold; 0: it has none. */
static usec_t life_ends(const struct life *l)
{
        if (l->disk.state == STATE_HELD)
                return l->hold.deadline;
        return l->trial.until;
}

static int append_course(sd_bus_message *reply, const struct entry *e)
{
        const struct disk *d = &e->life.disk;
        char lease[4 * sizeof(d->lease)], text[4 * sizeof(d->outcome.text)];

        return sd_bus_message_append(
                reply, UASD_BUS_COURSE, d->facts.interface, state_to_string(d->state),
                driver_or_empty(d->decision.target), disk_reason_id(d),
                verdict_to_string(d->facts.verdict), d->cancelled,
                d->inhibited ?: "", /* harmless already */
                harmless_sentence(d->lease, lease, sizeof(lease)), d->last_code, d->outcome.step,
                harmless_sentence(d->outcome.text, text, sizeof(text)), switch_run_names(e->run),
                e->life.waiting_since, life_ends(&e->life));
}

/* As the answer to a call: GetDisk, or a call of the object itself. */
static int no_such_disk(const char *id, sd_bus_error *error)
{
        return sd_bus_error_setf(error, UASD_BUS_ERROR_NO_SUCH_DISK, "There is no USB disk %s.",
                                 id);
}

static int object_find_disk(sd_bus *bus, const char *path, const char *interface, void *data,
                            void **ret_found, sd_bus_error *error)
{
        _cleanup_free_ char *id = NULL;
        int r = sd_bus_path_decode(path, DISK_PATH_PREFIX, &id);

        if (r < 0)
                return r;
        if (isempty(id)) /* the parent of the disks */
                return 0;
        *ret_found = disk_find(data, id);
        if (!*ret_found)
                return no_such_disk(id, error);
        return 1;
}

/* ---- org.uasd1.Job ---- */

/* A request, from its start to its end. Each signal names its disk, for clients without a list of
 * jobs. */

/* The words for the exit statuses of uasctl(1). */
static const char *job_result(const struct entry *e)
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
        if ((size_t) code >= ELEMENTSOF(words) || !words[code])
                return words[UASD_EXIT_FAILED];
        return words[code];
}

static int get_job_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *data, sd_bus_error *error)
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
                {"Result", job_result(e)},
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (streq(texts[i].name, property))
                        return bus_append_text(reply, texts[i].value);
        return -ENOENT;
}

static const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "u", NULL, offsetof(struct entry, request.number),
                        SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Disk", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("From", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("To", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Step", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", get_job_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

static int object_find_job(sd_bus *bus, const char *path, const char *interface, void *data,
                           void **ret_found, sd_bus_error *error)
{
        *ret_found = bus_job_find(data, path);
        return *ret_found != NULL;
}

/* ---- org.uasd1.Manager ---- */

static int get_disk(sd_bus_message *message, void *data, sd_bus_error *error)
{
        _cleanup_free_ char *path = NULL;
        const struct entry *e;
        const char *id;
        int r = sd_bus_message_read(message, "s", &id);

        if (r < 0)
                return r;
        e = disk_find(data, id);
        if (!e)
                return no_such_disk(id, error);
        path = bus_disk_path(e);
        if (!path)
                return -ENOMEM;
        return sd_bus_reply_method_return(message, "o", path);
}

static int list_disks(sd_bus_message *message, void *data, sd_bus_error *error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        struct manager *m = data;
        int users, r;

        r = sd_bus_message_read(message, "b", &users);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(message, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', UASD_BUS_COURSE);
        if (r < 0)
                return r;
        FOREACH_ENTRY (e, m) {
                r = append_course(reply, e);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', UASD_BUS_COURSE_USER);
        if (r < 0)
                return r;
        FOREACH_ENTRY (e, m) {
                if (users)
                        r = append_users_of(reply, e->life.disk.facts.interface, e);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        return sd_bus_send(NULL, reply, NULL);
}

static int get_inhibitors(sd_bus *bus, const char *path, const char *interface,
                          const char *property, sd_bus_message *reply, void *data,
                          sd_bus_error *error)
{
        const struct manager *m = data;
        const struct inhibitor *i;
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        if (r < 0)
                return r;
        TAILQ_FOREACH (i, &m->inhibitors, link) {
                r = sd_bus_message_append(reply, "(sss)", i->disk, i->who,
                                          i->why); /* harmless already */
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

static int append_row(sd_bus_message *reply, const struct policy_row *row)
{
        int r;

        r = sd_bus_message_open_container(reply, 'r', "ssbsas");
        if (r < 0)
                return r;
        r = bus_append_text(reply, row->id);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "sbs", policy_to_string(row->policy), row->forced,
                                  policy_source_to_string(row->source));
        if (r < 0)
                return r;
        r = sd_bus_message_append_strv(reply, row->disks);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

static int read_policies(struct manager *m, struct policy_rows *ret)
{
        _cleanup_free_ const struct facts **plugged = calloc(m->n_entries + 1, sizeof(*plugged));
        size_t n = 0;

        if (!plugged)
                return -ENOMEM;
        FOREACH_ENTRY (e, m)
                plugged[n++] = &e->life.disk.facts;
        return policy_list(&m->roots, &m->config, plugged, n, ret);
}

static int list_policies(sd_bus_message *message, void *data, sd_bus_error *error)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(policy_rows_done) struct policy_rows rows = {0};
        int r;

        r = read_policies(data, &rows);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(message, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "(ssbsas)");
        if (r < 0)
                return r;
        for (size_t i = 0; i < rows.n; i++) {
                r = append_row(reply, rows.list + i);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        return sd_bus_send(NULL, reply, NULL);
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *data, sd_bus_error *error)
{
        return sd_bus_message_append(reply, "s", UASD_VERSION);
}

/* All users may read. */
#define LOOK_UP(member, args, result, handler)                                                     \
        SD_BUS_METHOD_WITH_ARGS(member, SD_BUS_ARGS(args), SD_BUS_RESULT(result), handler,         \
                                SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Inhibitors", "a(sss)", get_inhibitors, 0,
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        LOOK_UP("GetDisk", SD_BUS_ARGS("s", id), SD_BUS_RESULT("o", disk), get_disk),
        LOOK_UP("ListDisks", SD_BUS_ARGS("b", users),
                SD_BUS_RESULT("a" UASD_BUS_COURSE, disks, "a" UASD_BUS_COURSE_USER, busy),
                list_disks),
        LOOK_UP("ListPolicies", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ssbsas)", policies),
                list_policies),
        SD_BUS_SIGNAL_WITH_ARGS(
                "JobRemoved",
                SD_BUS_ARGS("o", job, "s", disk, "i", code, "s", step, "s", text, "s", parts), 0),
        SD_BUS_VTABLE_END,
};

/* ---- all ---- */

/* sd-bus takes those of the paths that are below the node that it was asked for. */
static int objects_list(sd_bus *bus, const char *prefix, void *data, char ***ret_nodes,
                        sd_bus_error *error)
{
        _cleanup_strv_ char **nodes = NULL;
        const struct manager *m = data;
        char job[JOB_PATH_MAX];
        size_t n = 0;
        int r;

        FOREACH_ENTRY (e, m) {
                _cleanup_free_ char *disk = bus_disk_path(e);

                if (!disk)
                        return -ENOMEM;
                r = strv_push(&nodes, &n, disk);
                if (r < 0)
                        return r;
                if (!e->request.number)
                        continue;
                r = strv_push(&nodes, &n, bus_job_path(e, job));
                if (r < 0)
                        return r;
        }
        *ret_nodes = TAKE_PTR(nodes);
        return 0;
}

static int objects_add_kind(sd_bus *bus, struct manager *m, const char *prefix,
                            const char *interface, const sd_bus_vtable *properties,
                            const sd_bus_vtable *methods, sd_bus_object_find_t find)
{
        int r;

        r = sd_bus_add_fallback_vtable(bus, NULL, prefix, interface, properties, find, m);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(bus, NULL, prefix, interface, methods, find, m);
        if (r < 0)
                return r;
        return sd_bus_add_node_enumerator(bus, NULL, prefix, objects_list, m);
}

int bus_objects_add(sd_bus *bus, struct manager *m)
{
        int r;

        r = sd_bus_add_object_manager(bus, NULL, UASD_BUS_PATH);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(bus, NULL, UASD_BUS_PATH, UASD_BUS_MANAGER, manager_vtable, m);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(bus, NULL, UASD_BUS_PATH, UASD_BUS_MANAGER,
                                     bus_manager_methods, m);
        if (r < 0)
                return r;
        r = objects_add_kind(bus, m, DISK_PATH_PREFIX, UASD_BUS_DISK, disk_vtable(),
                             bus_disk_methods, object_find_disk);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(bus, NULL, DISK_PATH_PREFIX, UASD_BUS_DISK, disk_more_vtable,
                                       object_find_disk, m);
        if (r < 0)
                return r;
        return objects_add_kind(bus, m, JOB_PATH_PREFIX, UASD_BUS_JOB, job_vtable, bus_job_methods,
                                object_find_job);
}

int bus_interfaces_add(sd_bus *bus)
{
        const struct {
                const char *name;
                const sd_bus_vtable *members;
        } interfaces[] = {
                /* sd-bus puts the last one first */
                {UASD_BUS_JOB, job_vtable},
                {UASD_BUS_JOB, bus_job_methods},
                {UASD_BUS_DISK, disk_vtable()},
                {UASD_BUS_DISK, bus_disk_methods},
                {UASD_BUS_DISK, disk_more_vtable},
                {UASD_BUS_MANAGER, manager_vtable},
                {UASD_BUS_MANAGER, bus_manager_methods},
        };

        for (size_t i = 0; i < ELEMENTSOF(interfaces); i++) {
                int r = sd_bus_add_object_vtable(bus, NULL, UASD_BUS_PATH, interfaces[i].name,
                                                 interfaces[i].members, NULL);

                if (r < 0)
                        return r;
        }
        return 0;
}
