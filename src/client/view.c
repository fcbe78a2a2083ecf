/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/view.h"

#include <inttypes.h>

#include "common/need.h"
#include "common/util.h"
#include "core/explain.h"
#include "core/policy.h"

void view_done(struct view *v)
{
        disk_done(&v->disk);
        *v = (struct view){};
}

void views_done(struct views *v)
{
        for (size_t i = 0; i < v->n; i++)
                view_done(&v->list[i]);
        free(v->list);
        *v = (struct views){};
}

void views_add(struct views *v, struct view *item)
{
        need_push(v->list, v->n, TAKE_STRUCT(*item));
}

static int views_compare(const void *a, const void *b)
{
        const struct view *x = a, *y = b;

        return strverscmp(x->disk.facts.interface, y->disk.facts.interface);
}

void views_sort(struct views *v)
{
        if (v->n > 1)
                qsort(v->list, v->n, sizeof(*v->list), views_compare);
}

struct view *views_find(const struct views *v, const char *interface)
{
        for (size_t i = 0; i < v->n; i++)
                if (streq(v->list[i].disk.facts.interface, interface))
                        return &v->list[i];
        return NULL;
}

void courses_done(struct courses *l)
{
        for (size_t i = 0; i < l->n; i++) {
                free(l->list[i].inhibited);
                users_free(l->list[i].users, l->list[i].n_users);
        }
        free(l->list);
        *l = (struct courses){};
}

struct course *courses_find(const struct courses *l, const char *interface)
{
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->list[i].interface, interface))
                        return &l->list[i];
        return NULL;
}

void view_take_course(struct view *v, struct course *course, bool users)
{
        int reason = reason_from_string(course->reason_id);
        struct disk *d = &v->disk;

        d->state = course->state;
        d->unattended = false;
        d->cancelled = course->cancelled;
        v->since = course->since;
        v->ends = course->ends;
        d->outcome = course->outcome;
        d->facts.verdict = course->verdict;
        d->decision.target = course->target;
        if (reason >= 0)
                d->decision.reason = (enum reason) reason;
        memcpy(d->lease, course->lease, sizeof(d->lease));
        free(d->inhibited);
        d->inhibited = TAKE_PTR(course->inhibited);
        if (!users)
                return;
        users_free(d->users, d->n_users);
        d->users = TAKE_PTR(course->users);
        d->n_users = course->n_users;
        course->n_users = 0;
}

char *view_block_names(const struct view *v, char *ret, size_t size)
{
        if (!*luns_names(v->disk.luns, v->disk.n_luns, ret, size))
                (void) copy_string(ret, size, "-");
        return ret;
}

const char *view_name(const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (v->disk.luns[i].disk.name[0])
                        return v->disk.luns[i].disk.name;
        return v->disk.facts.port;
}

const char *view_label(const struct view *v, char ret[static VIEW_LABEL_MAX])
{
        char names[60];

        if (streq(view_block_names(v, names, sizeof(names)), "-"))
                (void) copy_string(ret, VIEW_LABEL_MAX, v->disk.facts.interface);
        else
                (void) snprintf(ret, VIEW_LABEL_MAX, "%s (%s)", v->disk.facts.interface, names);
        return ret;
}

const char *view_driver(const struct view *v)
{
        const struct facts *f = &v->disk.facts;

        if (f->driver == DRIVER_UAS || f->driver == DRIVER_USB_STORAGE)
                return driver_to_string(f->driver);
        if (!f->driver_name[0])
                return NULL;
        return f->driver_name;
}

const char *view_why(const struct view *v)
{
        int reason = reason_from_string(v->reason_id);

        if (v->disk.state == STATE_WAITING && v->disk.inhibited)
                return "inhibited";
        if (reason < 0)
                return v->reason_id;
        return why_word(v->disk.state, (enum reason) reason);
}

bool view_is_slower(const struct view *v)
{
        return v->disk.facts.driver == DRIVER_USB_STORAGE && v->disk.decision.target == DRIVER_UAS;
}

bool view_leaves_uas(const struct view *v)
{
        return v->disk.facts.driver == DRIVER_UAS && v->disk.decision.target == DRIVER_USB_STORAGE;
}

const char *view_target(const struct view *v)
{
        if (v->disk.decision.target == DRIVER_NONE)
                return NULL;
        return driver_to_string(v->disk.decision.target);
}

bool view_capable(const struct view *v)
{
        const struct facts *f = &v->disk.facts;

        return f->caps_error == 0 && facts_offer_uas(f);
}

char *view_product(const struct view *v, char *ret, size_t size)
{
        const struct facts *f = &v->disk.facts;

        (void) snprintf(ret, size, "%s%s%s", f->manufacturer,
                        f->manufacturer[0] && f->product[0] ? " " : "", f->product);
        return ret;
}

static void user_clause(const struct user *u, char *ret, size_t size)
{
        const char *name = u->command ?: u->where;

        switch (u->kind) {
        case USER_MOUNT:
                (void) snprintf(ret, size,
                                u->namespace ? _("mounted on %s in the namespace %s")
                                             : _("mounted on %s"),
                                u->where ?: "?", u->namespace);
                break;
        case USER_SWAP:
                (void) snprintf(ret, size, "%s", _("used as swap"));
                break;
        case USER_HOLDER:
                (void) snprintf(ret, size,
                                u->where ? _("held by %s") : _("held by another block device"),
                                u->where);
                break;
        case USER_OPEN:
                (void) snprintf(ret, size,
                                u->command ? _("opened by %s") : _("opened by a process"),
                                u->command);
                break;
        case USER_LOOP:
                (void) snprintf(ret, size, u->where ? _("behind %s") : _("behind a loop device"),
                                u->where);
                break;
        case USER_CLAIM:
                (void) snprintf(ret, size, name ? _("claimed by %s") : _("claimed by a program"),
                                name);
                break;
        case _USER_KIND_MAX:
                ret[0] = '\0';
                break;
        }
}

char *user_text(const struct user *u, char *ret, size_t size)
{
        user_clause(u, ret, size);
        if (u->pid > 0 && u->unit)
                text_add(ret, size, _(", pid %i of %s"), (int) u->pid, u->unit);
        else if (u->pid > 0)
                text_add(ret, size, _(", pid %i"), (int) u->pid);
        if (u->device[0])
                text_add(ret, size, " (%s)", u->device);
        return ret;
}

char *size_text(uint64_t size, char *ret, size_t n)
{
        static const char units[] = "BKMGTPE";
        uint64_t tenths = size;
        size_t u = 0;

        if (size < 1024) {
                (void) snprintf(ret, n, "%" PRIu64 "B", size);
                return ret;
        }
        while (tenths >= 1024 * 1024 && units[u + 2])
                tenths /= 1024, u++;
        tenths = (tenths * 10 + 512) / 1024, u++;
        if (tenths % 10)
                (void) snprintf(ret, n, "%" PRIu64 ".%" PRIu64 "%c", tenths / 10, tenths % 10,
                                units[u]);
        else
                (void) snprintf(ret, n, "%" PRIu64 "%c", tenths / 10, units[u]);
        return ret;
}

bool state_is_pending(enum state s)
{
        return s == STATE_HELD || s == STATE_WAITING || s == STATE_SWITCHING;
}
