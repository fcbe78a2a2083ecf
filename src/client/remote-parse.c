/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote.h"

#include "common/names.h"
#include "common/need.h"
#include "common/util.h"

/*
 * The properties of an interface, a row each. Unknown properties of a newer daemon are ignored. A
 * known property that cannot be parsed is an error, because an incomplete answer is useless.
 */
struct property {
        const char *name, *contents;
        int (*take)(const char *s, const struct property *p, void *to); /* for texts */
        size_t offset, size;
        int (*from_string)(const char *); /* for the names of an enum in core/types.h */
        int otherwise;                    /* value of ""; negative: "" is not allowed */
        int (*read)(sd_bus_message *m, struct disk *d); /* NULL for texts and numbers */
};

static int take_buffer(const char *s, const struct property *p, void *to)
{
        (void) copy_string((char *) to + p->offset, p->size, s);
        return 0;
}

static enum driver driver_named(const char *s)
{
        if (isempty(s))
                return DRIVER_NONE;
        if (streq(s, DRIVER_NAME_UAS))
                return DRIVER_UAS;
        if (streq(s, DRIVER_NAME_BOT))
                return DRIVER_USB_STORAGE;
        return DRIVER_OTHER;
}

static int take_driver(const char *s, const struct property *p, void *to)
{
        struct facts *f = &((struct view *) to)->disk.facts;

        (void) copy_string(f->driver_name, sizeof(f->driver_name), s);
        f->driver = driver_named(s);
        return 0;
}

static int take_enum(const char *s, const struct property *p, void *to)
{
        int word = isempty(s) ? p->otherwise : p->from_string(s);

        if (word < 0)
                return -EBADMSG;
        memcpy((char *) to + p->offset, &word, p->size);
        return 0;
}

static int read_capable(sd_bus_message *m, struct disk *d)
{
        int b, r = sd_bus_message_read_basic(m, 'b', &b);

        if (r < 0)
                return r;
        d->facts.caps.uas = d->facts.caps.pipes = b;
        return 0;
}

static int read_luns(sd_bus_message *m, struct disk *d)
{
        const char *name;
        uint64_t size;
        uint32_t lun;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sut)");
        if (r < 0)
                return r;
        luns_free(TAKE_PTR(d->luns), d->n_luns);
        d->n_luns = 0;
        while ((r = sd_bus_message_read(m, "(sut)", &name, &lun, &size)) > 0) {
                struct lun l = {.lun = lun, .size = size};

                (void) copy_string(l.disk.name, sizeof(l.disk.name), name);
                need_push(d->luns, d->n_luns, l);
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(m);
}

static char *copy_if_said(const char *s)
{
        if (isempty(s))
                return NULL;
        return need(strdup(s));
}

static int read_busy(sd_bus_message *m, struct disk *d)
{
        const char *kind, *device, *where, *namespace, *command, *unit;
        uint32_t pid;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sssssus)");
        if (r < 0)
                return r;
        users_free(TAKE_PTR(d->users), d->n_users);
        d->n_users = 0;
        while ((r = sd_bus_message_read(m, "(sssssus)", &kind, &device, &where, &namespace,
                                        &command, &pid, &unit)) > 0) {
                int type = user_kind_from_string(kind);
                struct user u = {.kind = (enum user_kind) type, .pid = (pid_t) pid};

                if (type < 0)
                        return -EBADMSG;
                (void) copy_string(u.device, sizeof(u.device), device);
                u.where = copy_if_said(where);
                u.namespace = copy_if_said(namespace);
                u.command = copy_if_said(command);
                u.unit = copy_if_said(unit);
                /* The bus has no kind for btrfs, so the name decides. */
                u.btrfs = u.kind == USER_HOLDER && startswith(where, HOLDER_BTRFS);
                need_push(d->users, d->n_users, u);
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(m);
}

static int read_outcome(sd_bus_message *m, struct disk *d)
{
        struct outcome *o = &d->outcome;
        const char *step, *text;
        int r = sd_bus_message_read(m, "(iss)", &o->code, &step, &text);

        if (r < 0)
                return r;
        (void) copy_string(o->step, sizeof(o->step), step);
        (void) copy_string(o->text, sizeof(o->text), text);
        return 0;
}

#define AT(field) offsetof(struct view, field), sizeof(((struct view *) NULL)->field)

static const struct property properties[] = {
        {"Id", "s", take_buffer, AT(disk.facts.interface)},
        {"VendorId", "q", NULL, AT(disk.facts.vid)},
        {"ProductId", "q", NULL, AT(disk.facts.pid)},
        {"Revision", "q", NULL, AT(disk.facts.bcd)},
        {"Manufacturer", "s", take_buffer, AT(disk.facts.manufacturer)},
        {"Product", "s", take_buffer, AT(disk.facts.product)},
        {"Serial", "s", take_buffer, AT(disk.facts.serial)},
        {"SpeedMbps", "u", NULL, AT(disk.facts.speed_mbps)},
        {"MaxSpeedMbps", "u", NULL, AT(disk.facts.max_speed_mbps)},
        {"UsbVersion", "s", take_buffer, AT(disk.facts.usb_version)},
        {"Driver", "s", take_driver},
        {"Capable", "b", .read = read_capable},
        {"Policy", "s", take_enum, AT(disk.facts.policy), policy_from_string, -EINVAL},
        {"Target", "s", take_enum, AT(disk.decision.target), driver_from_string, DRIVER_NONE},
        {"State", "s", take_enum, AT(disk.state), state_from_string, -EINVAL},
        {"Reason", "s", take_buffer, AT(reason)},
        {"ReasonId", "s", take_buffer, AT(reason_id)},
        {"Verdict", "s", take_enum, AT(disk.facts.verdict), verdict_from_string, -EINVAL},
        {"History", "s", take_buffer, AT(history)},
        {"Diagnosis", "s", take_buffer, AT(diagnosis)},
        {"Host", "s", take_buffer, AT(disk.host)},
        {"Disks", "a(sut)", .read = read_luns},
        {"Busy", "a(sssssus)", .read = read_busy},
        {"Outcome", "(iss)", .read = read_outcome},
        {"Lease", "s", take_buffer, AT(disk.lease)},
        {},
};

static const struct property job_properties[] = {
        {"Disk", "s", take_buffer, offsetof(struct job_step, disk), INTERFACE_NAME_MAX},
        {"State", "s", take_buffer, offsetof(struct job_step, state), JOB_WORD_MAX},
        {"Step", "s", take_buffer, offsetof(struct job_step, step), JOB_WORD_MAX},
        {},
};

static const struct property *property_find(const struct property *table, const char *name)
{
        while (table->name && !streq(table->name, name))
                table++;
        return table->name ? table : NULL;
}

static int read_value(sd_bus_message *m, const struct property *p, void *to)
{
        const char *s;
        int r;

        if (p->read)
                return p->read(m, &((struct view *) to)->disk);
        if (!p->take)
                return sd_bus_message_read_basic(m, *p->contents, (char *) to + p->offset);
        r = sd_bus_message_read_basic(m, *p->contents, &s);
        if (r < 0)
                return r;
        return p->take(s, p, to);
}

static int read_property(sd_bus_message *m, const struct property *table, void *to)
{
        const struct property *p;
        const char *name;
        int r = sd_bus_message_read_basic(m, 's', &name);

        if (r < 0)
                return r;
        p = property_find(table, name);
        if (!p)
                return sd_bus_message_skip(m, "v");
        r = sd_bus_message_enter_container(m, 'v', p->contents);
        if (r < 0)
                return r;
        r = read_value(m, p, to);
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(m);
}

static int read_properties(sd_bus_message *m, const struct property *table, void *to)
{
        int r = sd_bus_message_enter_container(m, 'a', "{sv}");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_property(m, table, to);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(m);
}

/* Returns 1 for a disk. */
static int read_object(sd_bus_message *m, struct view *v)
{
        const char *path, *interface;
        bool found = false;
        int r = sd_bus_message_read_basic(m, 'o', &path);

        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, 'a', "{sa{sv}}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sa{sv}")) > 0) {
                r = sd_bus_message_read_basic(m, 's', &interface);
                if (r < 0)
                        return r;
                if (!found && streq(interface, UASD_BUS_DISK)) {
                        r = read_properties(m, properties, v);
                        found = true;
                } else
                        r = sd_bus_message_skip(m, "a{sv}");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        return found;
}

static int view_finish(struct view *v)
{
        struct facts *f = &v->disk.facts;

        if (!f->interface[0])
                return -EBADMSG;
        (void) copy_string(f->port, sizeof(f->port), f->interface);
        f->port[strcspn(f->port, ":")] = '\0';
        return 0;
}

/* In the order of UASD_BUS_BRIEF. */
static const char *const brief[] = {
        "Id",           "Disks",   "SpeedMbps", "MaxSpeedMbps", "Driver",  "State",
        "Manufacturer", "Product", "ReasonId",  "Target",       "Verdict", "Diagnosis",
};

static int read_brief(sd_bus_message *m, struct view *v)
{
        for (size_t i = 0; i < ELEMENTSOF(brief); i++) {
                int r = read_value(m, property_find(properties, brief[i]), v);

                if (r < 0)
                        return r;
        }
        return 1;
}

/* Reads an array of containers of this type; read returns 1 for a disk. */
static int views_parse(sd_bus_message *m, const char *array, char type, const char *contents,
                       int (*read)(sd_bus_message *m, struct view *v), struct views *ret)
{
        _cleanup_(views_done) struct views views = {};
        int r = sd_bus_message_enter_container(m, 'a', array);

        if (r < 0)
                return -EBADMSG;
        while ((r = sd_bus_message_enter_container(m, type, contents)) > 0) {
                _cleanup_(view_done) struct view v = {.disk.outcome.code = -1};

                r = read(m, &v);
                if (r < 0 || (r > 0 && view_finish(&v) < 0))
                        return -EBADMSG;
                if (r > 0)
                        views_add(&views, &v);
                if (sd_bus_message_exit_container(m) < 0)
                        return -EBADMSG;
        }
        if (r < 0)
                return -EBADMSG;
        views_sort(&views);
        *ret = TAKE_STRUCT(views);
        return 0;
}

int remote_parse(sd_bus_message *m, struct views *ret)
{
        return views_parse(m, "{oa{sa{sv}}}", 'e', "oa{sa{sv}}", read_object, ret);
}

int remote_parse_brief(sd_bus_message *m, struct views *ret)
{
        return views_parse(m, "(" UASD_BUS_BRIEF ")", 'r', UASD_BUS_BRIEF, read_brief, ret);
}

int remote_parse_added(sd_bus_message *m, struct view *ret)
{
        _cleanup_(view_done) struct view v = {.disk.outcome.code = -1};
        int r = read_object(m, &v);

        if (r <= 0)
                return r;
        if (view_finish(&v) < 0)
                return -EBADMSG;
        *ret = TAKE_STRUCT(v);
        return r;
}

int remote_parse_changed(sd_bus_message *m, struct view *v)
{
        int r = read_properties(m, properties, v);

        if (r < 0)
                return r;
        return view_finish(v);
}

int remote_parse_step(sd_bus_message *m, struct job_step *ret)
{
        return read_properties(m, job_properties, ret);
}
