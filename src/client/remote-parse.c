/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/remote-parse.h"

#include "common/names.h"
#include "common/need.h"
#include "common/sentence.h"
#include "common/util.h"

/* An answer that cannot be parsed as a whole is an error, because an incomplete one is useless. */

static char *copy_if_said(const char *s)
{
        if (isempty(s))
                return NULL;
        return need(strdup(s));
}

static int read_course(sd_bus_message *m, struct course *ret)
{
        const char *id, *state, *target, *reason, *verdict, *inhibited, *lease, *step, *text,
                *former;
        int r, s, t = DRIVER_NONE, w, cancelled, code;
        uint64_t since, ends;

        r = sd_bus_message_read(m, UASD_BUS_COURSE, &id, &state, &target, &reason, &verdict,
                                &cancelled, &inhibited, &lease, &code, &step, &text, &former,
                                &since, &ends);
        if (r <= 0)
                return r;
        s = state_from_string(state);
        w = verdict_from_string(verdict);
        if (!isempty(target))
                t = driver_from_string(target);
        if (isempty(id) || s < 0 || t < 0 || w < 0)
                return -EBADMSG;
        *ret = (struct course){.state = (enum state) s,
                               .target = (enum driver) t,
                               .verdict = (enum verdict) w,
                               .cancelled = cancelled,
                               .since = since,
                               .ends = ends,
                               .inhibited = copy_if_said(inhibited),
                               .outcome.code = code};
        (void) copy_string(ret->interface, sizeof(ret->interface), id);
        (void) copy_string(ret->former, sizeof(ret->former), former);
        (void) copy_string(ret->reason_id, sizeof(ret->reason_id), reason);
        (void) sentence_fill(lease, ret->lease, sizeof(ret->lease));
        (void) copy_string(ret->outcome.step, sizeof(ret->outcome.step), step);
        (void) sentence_fill(text, ret->outcome.text, sizeof(ret->outcome.text));
        return 1;
}

static int read_user(sd_bus_message *m, const struct courses *courses)
{
        const char *id, *kind, *device, *where, *namespace, *command, *unit;
        struct course *course;
        struct user u = {};
        uint32_t pid;
        int type, r;

        r = sd_bus_message_read(m, UASD_BUS_COURSE_USER, &id, &kind, &device, &where, &namespace,
                                &command, &pid, &unit);
        if (r <= 0)
                return r;
        type = user_kind_from_string(kind);
        course = courses_find(courses, id);
        if (type < 0 || !course)
                return -EBADMSG;
        u.kind = (enum user_kind) type;
        u.pid = (pid_t) pid;
        (void) copy_string(u.device, sizeof(u.device), device);
        u.where = copy_if_said(where);
        u.namespace = copy_if_said(namespace);
        u.command = copy_if_said(command);
        u.unit = copy_if_said(unit);
        /* The bus has no kind for btrfs, so the name decides. */
        u.btrfs = u.kind == USER_HOLDER && startswith(where, HOLDER_BTRFS);
        need_push(course->users, course->n_users, u);
        return 1;
}

int remote_parse(sd_bus_message *m, struct courses *ret)
{
        _cleanup_(courses_done) struct courses courses = {};
        struct course course;
        int r;

        if (sd_bus_message_enter_container(m, 'a', UASD_BUS_COURSE) < 0)
                return -EBADMSG;
        while ((r = read_course(m, &course)) > 0)
                need_push(courses.list, courses.n, course);
        if (r < 0 || sd_bus_message_exit_container(m) < 0 ||
            sd_bus_message_enter_container(m, 'a', UASD_BUS_COURSE_USER) < 0)
                return -EBADMSG;
        while ((r = read_user(m, &courses)) > 0)
                ;
        if (r < 0)
                return -EBADMSG;
        *ret = TAKE_STRUCT(courses);
        return 0;
}

static int read_job_property(sd_bus_message *m, const char *name, struct job_step *s)
{
        const struct {
                const char *name;
                char *to;
                size_t size;
        } texts[] = {
                {"Disk", s->disk, sizeof(s->disk)},
                {"State", s->state, sizeof(s->state)},
                {"Step", s->step, sizeof(s->step)},
        };
        const char *text;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                int r;

                if (!streq(name, texts[i].name))
                        continue;
                r = sd_bus_message_read(m, "v", "s", &text);
                if (r >= 0)
                        (void) copy_string(texts[i].to, texts[i].size, text);
                return r;
        }
        return sd_bus_message_skip(m, "v");
}

int remote_parse_step(sd_bus_message *m, struct job_step *ret)
{
        const char *name;
        int r = sd_bus_message_enter_container(m, 'a', "{sv}");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = sd_bus_message_read_basic(m, 's', &name);
                if (r < 0)
                        return r;
                r = read_job_property(m, name, ret);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r;
}
