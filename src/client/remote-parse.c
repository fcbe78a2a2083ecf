/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote-parse.h"

#include "client/remote.h"
#include "common/names.h"
#include "common/need.h"
#include "common/util.h"

/*
 * Unknown properties of a newer daemon are ignored. A known property that cannot be parsed is an
 * error, because an incomplete answer is useless.
 */

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

static int read_value(sd_bus_message *m, const struct disk_property *p, struct view *v)
{
        const char type = *property_types[p->kind], *text;
        int r;

        switch (p->kind) {
        case PROPERTY_HEX:
        case PROPERTY_NUMBER:
                return sd_bus_message_read_basic(m, type, (char *) v + p->offset);
        case PROPERTY_CAPABLE:
                return read_capable(m, &v->disk);
        case PROPERTY_LUNS:
                return read_luns(m, &v->disk);
        case PROPERTY_USERS:
                return read_busy(m, &v->disk);
        case PROPERTY_OUTCOME:
                return read_outcome(m, &v->disk);
        case PROPERTY_TEXT:
        case _PROPERTY_KIND_MAX:
                break;
        }
        r = sd_bus_message_read_basic(m, type, &text);
        if (r < 0)
                return r;
        return disk_property_take(p, v, text);
}

/* Reads a property of this name, a variant. */
typedef int property_fn(sd_bus_message *m, const char *name, void *to);

static int read_disk_property(sd_bus_message *m, const char *name, void *to)
{
        const struct disk_property *p = disk_property_find(name);
        int r;

        if (!p)
                return sd_bus_message_skip(m, "v");
        r = sd_bus_message_enter_container(m, 'v', property_types[p->kind]);
        if (r < 0)
                return r;
        r = read_value(m, p, to);
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(m);
}

static int read_text(sd_bus_message *m, char *ret, size_t size)
{
        const char *text;
        int r = sd_bus_message_read(m, "v", "s", &text);

        if (r < 0)
                return r;
        (void) copy_string(ret, size, text);
        return 0;
}

static int read_job_property(sd_bus_message *m, const char *name, void *to)
{
        struct job_step *s = to;

        if (streq(name, "Disk"))
                return read_text(m, s->disk, sizeof(s->disk));
        if (streq(name, "State"))
                return read_text(m, s->state, sizeof(s->state));
        if (streq(name, "Step"))
                return read_text(m, s->step, sizeof(s->step));
        return sd_bus_message_skip(m, "v");
}

static int read_properties(sd_bus_message *m, property_fn *read, void *to)
{
        const char *name;
        int r = sd_bus_message_enter_container(m, 'a', "{sv}");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = sd_bus_message_read_basic(m, 's', &name);
                if (r < 0)
                        return r;
                r = read(m, name, to);
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
                        r = read_properties(m, read_disk_property, v);
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

static int view_finish(struct view *v)
{
        struct facts *f = &v->disk.facts;

        if (!f->interface[0])
                return -EBADMSG;
        f->driver = driver_named(f->driver_name);
        (void) copy_string(f->port, sizeof(f->port), f->interface);
        f->port[strcspn(f->port, ":")] = '\0';
        return 0;
}

static int read_brief(sd_bus_message *m, struct view *v)
{
        for (size_t i = 0; i < n_disk_properties; i++) {
                int r = 0;

                if (disk_properties[i].flags & PROPERTY_BRIEF)
                        r = read_value(m, &disk_properties[i], v);
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
        return views_parse(m, "(" PROPERTIES_BRIEF ")", 'r', PROPERTIES_BRIEF, read_brief, ret);
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
        int r = read_properties(m, read_disk_property, v);

        if (r < 0)
                return r;
        return view_finish(v);
}

int remote_parse_step(sd_bus_message *m, struct job_step *ret)
{
        return read_properties(m, read_job_property, ret);
}
