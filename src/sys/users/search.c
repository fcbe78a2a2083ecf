/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/users/search.h"

#include "common/util.h"
#include "sys/io/sysfs.h"

const char *search_name(const struct user_search *s, const char *name)
{
        for (size_t i = 0; i < s->n_luns; i++) {
                const struct lun *l = &s->luns[i];

                if (streq(l->disk.name, name))
                        return l->disk.name;
                if (l->sg[0] && streq(l->sg, name))
                        return l->sg;
                for (size_t p = 0; p < l->n_parts; p++)
                        if (streq(l->parts[p].name, name))
                                return l->parts[p].name;
        }
        return NULL;
}

struct user *search_add(struct user_search *s, enum user_kind kind, const char *device)
{
        struct user u = {.kind = kind};

        (void) copy_string(u.device, sizeof(u.device), device);
        return list_push(s->list, s->n, u) ? s->list + s->n - 1 : NULL;
}

bool search_is_mounted(const struct user_search *s, const char *device)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].kind == USER_MOUNT && streq(s->list[i].device, device))
                        return true;
        return false;
}

#define USES_MAX 64

bool search_enough(const struct user_search *s, const char *device)
{
        size_t n = 0;

        for (size_t i = 0; i < s->n && n < USES_MAX; i++)
                n += streq(s->list[i].device, device);
        return n == USES_MAX;
}

int search_add_named(struct user_search *s, enum user_kind kind, const char *device, const char *where)
{
        struct user *u = search_add(s, kind, device);

        if (!u || (where && !(u->where = strdup(where))))
                return -ENOMEM;
        return s->any ? SEARCH_OVER : 0;
}

/* Returns the first unit in the path of a cgroup. */
static char *first_unit(char *path)
{
        char *save;

        for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
                const char *dot = strrchr(part, '.');

                if (dot && (streq(dot, ".service") || streq(dot, ".scope")))
                        return strdup(part);
        }
        return NULL;
}

/* Returns the first part of its cgroup that is a unit: systemd does not name the groups below a delegated one. */
static char *unit_of(const struct roots *r, pid_t pid)
{
        char path[64], text[1024], *save;

        (void) snprintf(path, sizeof(path), "%i/cgroup", (int) pid);
        if (attr_read(r->proc, path, text, sizeof(text)) <= 0)
                return NULL;
        /* "0::/system.slice/smbd.service"; with several hierarchies "1:name=systemd:/system.slice/smbd.service" too */
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *id = line + strspn(line, "0123456789");

                if (strncmp(line, "0::/", 4) == 0 || strncmp(id, ":name=systemd:/", 15) == 0)
                        return first_unit(strchr(line, '/'));
        }
        return NULL;
}

void search_who(const struct user_search *s, struct user *u, const char *pid)
{
        char path[64], command[64];

        u->pid = (pid_t) atol(pid); /* for a thread: its process */
        (void) snprintf(path, sizeof(path), "%i/comm", (int) u->pid);
        if (attr_read(s->r->proc, path, command, sizeof(command)) > 0)
                u->command = strdup(command);
        u->unit = unit_of(s->r, u->pid);
}

bool search_first_sight(struct user_search *s, const char *namespace)
{
        for (size_t i = 0; i < s->n_namespaces; i++)
                if (streq(s->namespaces[i], namespace))
                        return false;
        return strv_push(&s->namespaces, &s->n_namespaces, namespace) >= 0;
}
