/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/ctl.h"

#include "core/disk.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "sys/io/sysfs.h"

#define COMMAND_MAX 1200
#define STACK_DEPTH 8 /* of the recursion: real stacks have three */

struct freeing {
        const struct roots *roots;
        char **list;
        size_t n;
        unsigned depth;
};

static void add(struct freeing *f, const char *command)
{
        for (size_t i = 0; i < f->n; i++)
                if (streq(f->list[i], command))
                        return;
        if (*command && strv_push(&f->list, &f->n, command) < 0)
                no_memory();
}

static void read_mapping(const struct roots *r, const char *name, const char *attribute, char *ret, size_t size)
{
        if (attr_read(r->sys, path_join("class/block/", name, "/dm/", attribute), ret, size) < 0)
                ret[0] = '\0';
}

/* For dir_each() over holders/: a device can be stopped only after those that stand on it. */
static int stop_stacked(const char *name, void *data)
{
        char mapping[160], uuid[160], command[COMMAND_MAX];
        struct freeing *f = data;

        if (++f->depth < STACK_DEPTH)
                (void) dir_each(f->roots->sys, path_join("class/block/", name, "/holders"), stop_stacked, f);
        f->depth--;
        read_mapping(f->roots, name, "name", mapping, sizeof(mapping));
        read_mapping(f->roots, name, "uuid", uuid, sizeof(uuid));
        add(f, freeing_holder(name, mapping, uuid, command, sizeof(command)));
        return 0;
}

char **freeing_list(const struct roots *r, const struct disk *d)
{
        struct freeing f = {.roots = r};

        if (disk_has_root(d))
                return NULL;
        /* The mount table lists a mount before those below it. */
        for (size_t i = d->n_users; i > 0; i--) {
                const struct user *u = d->users + i - 1;
                char command[COMMAND_MAX];

                add(&f, freeing_command(u, user_is_stacked(d, u), command, sizeof(command)));
        }
        for (size_t i = 0; i < d->n_users; i++)
                if (d->users[i].kind == USER_HOLDER && d->users[i].where)
                        (void) stop_stacked(d->users[i].where, &f);
        return f.list;
}

/* ---- messages ---- */

void say_users(const struct view *v)
{
        char text[512];

        for (size_t i = 0; i < v->disk.n_users; i++)
                log_info("  %s", user_text(&v->disk.users[i], text, sizeof(text)));
}

void say_in_use(const struct ctl *c, const struct view *v)
{
        const char *free_it = _("To free it:");
        _cleanup_strv_ char **commands = c->client.host ? NULL : freeing_list(&c->client.roots, &v->disk);

        say_users(v);
        for (size_t i = 0; commands && commands[i]; i++) {
                const char *key = i == 0 ? free_it : "";

                log_info("%s%*s %s", key, fold_blanks(key, fold_width(free_it)), "", commands[i]);
        }
}

int tell_deferred(const struct ctl *c, const char *label, const struct view *v)
{
        char remedy[REMEDY_MAX], text[BOOT_PLACE_MAX];

        if (v->disk.n_users > 0)
                log_info("%s: in use, and still on %s:", label, view_driver(v) ?: _("no driver"));
        else
                log_info("%s: not yet. %s", label, TRANSLATED(v->reason));
        say_in_use(c, v);
        log_info(disk_has_root(&v->disk) ? N_("To cancel: uasctl cancel %s")
                 : v->disk.n_users > 0   ? N_("uasd switches it as soon as it is free. To cancel: uasctl cancel %s")
                                         : N_("uasd switches it by itself. To cancel: uasctl cancel %s"),
                 v->disk.facts.interface);
        if (*disk_system_remedy(&v->disk, remedy, sizeof(remedy)))
                log_info("%s", TRANSLATED(remedy));
        if (!c->client.host && *boot_place_for(c, v, text, sizeof(text)))
                log_info("%s", text);
        return UASD_EXIT_DEFERRED;
}
