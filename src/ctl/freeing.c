/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/freeing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/disk-words.h"
#include "core/disk.h"
#include "core/freeing.h"
#include "ctl/boot.h"
#include "ctl/context.h"
#include "ctl/output.h"
#include "sys/io/look.h"
#include "sys/io/programs.h"
#include "sys/io/sysfs.h"
#include "sys/users/mounts.h"
#include "sys/users/users.h"
#include "sys/users/who.h"

#define STACK_DEPTH 8 /* of the recursion: real stacks have three */

struct freeing {
        const struct roots *roots;
        struct freeing_list *list;
        unsigned depth;
};

static void freeing_push(char ***list, size_t *n, const char *text)
{
        for (size_t i = 0; i < *n; i++)
                if (streq((*list)[i], text))
                        return;
        if (strv_push(list, n, text) < 0)
                no_memory();
}

/* Returns true if the command is in the list. */
static bool freeing_add(struct freeing *f, enum remedy id, const char *operand)
{
        char command[REMEDY_COMMAND_MAX];

        if (id == REMEDY_NONE || remedy_here(f->roots, id, operand, command, sizeof(command)) < 0)
                return false;
        freeing_push(&f->list->commands, &f->list->n, command);
        return true;
}

/* Tells why there is no command. */
static void freeing_leave_out(struct freeing *f, enum remedy id, const char *name)
{
        char text[512], harmless[256];

        (void) make_harmless(name, harmless, sizeof(harmless));
        if (id == REMEDY_NONE)
                (void) snprintf(text, sizeof(text), _("No command is known that frees %s."),
                                harmless);
        else if (remedy_operand_valid(name))
                (void) snprintf(text, sizeof(text),
                                _("%s: the program that frees it is not installed."), harmless);
        else
                (void) snprintf(
                        text, sizeof(text),
                        _("%s: the name is too long or has special characters, so uasctl prints no command."),
                        harmless);
        freeing_push(&f->list->left_out, &f->list->n_left_out, text);
}

static void add_or_say(struct freeing *f, enum remedy id, const char *operand, const char *name)
{
        if (!freeing_add(f, id, operand))
                freeing_leave_out(f, id, name);
}

/* The service is the narrowest part that does not start the process again. A process that has ended
 * needs no command. */
static void end_process(struct freeing *f, const struct user *u)
{
        char operand[REMEDY_OPERAND_MAX], pid[REMEDY_OPERAND_MAX];

        if (u->pid <= 0 || !user_still_there(f->roots, u))
                return;
        if (freeing_unit(u, operand) == REMEDY_NONE || !user_unit_runs(f->roots, u->unit) ||
            !freeing_add(f, REMEDY_STOP_UNIT, operand))
                (void) freeing_add(f, freeing_process(u, user_ignores_term(f->roots, u), pid), pid);
}

/* A mount in another namespace lasts as long as one of the processes there. */
static void end_processes(struct freeing *f, const struct user *u)
{
        struct user *list = NULL;
        size_t n = 0;

        end_process(f, u);
        if (!u->namespace || users_of_namespace(f->roots, u->namespace, &list, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                end_process(f, list + i);
        users_free(list, n);
}

static void free_users(struct freeing *f, const struct user *users, size_t n);

/* The users of the loop device end first. Until then the kernel would only remember to detach it.
 */
static void detach_loop(struct freeing *f, const struct user *u, const char *operand)
{
        struct lun lun = {};
        struct user *users = NULL;
        char text[8] = "";
        size_t n = 0;

        if (!user_loop_sure(f->roots, u)) {
                freeing_leave_out(f, REMEDY_NONE, u->where);
                return;
        }
        if (copy_string(lun.disk.name, sizeof(lun.disk.name), u->where) &&
            attr_read_devno(f->roots->sys, path_join("class/block/", u->where, "/dev"),
                            &lun.disk.major, &lun.disk.minor) >= 0)
                (void) users_find(f->roots, &lun, 1, geteuid() == 0, &users, &n);
        free_users(f, users, n);
        users_free(users, n);
        /* The kernel detaches it with its last user. */
        (void) attr_read(f->roots->sys, path_join("class/block/", u->where, "/loop/autoclear"),
                         text, sizeof(text));
        if (n == 0 || !streq(text, "1"))
                add_or_say(f, REMEDY_LOOP, operand, u->where);
}

static bool same_filesystem(const char *a, const char *b)
{
        struct stat of_a, of_b;

        return file_look(AT_FDCWD, a, 0, &of_a) == 0 && file_look(AT_FDCWD, b, 0, &of_b) == 0 &&
               of_a.st_dev == of_b.st_dev;
}

/* A swap file keeps its file system busy, and umount would fail. */
static void stop_swap_files(struct freeing *f, const char *where)
{
        _cleanup_(mount_table_close) struct mount_table swaps;

        if (mount_table_open(&swaps, MOUNTS_SWAPS, f->roots->proc, "swaps") < 0)
                return;
        while (mount_table_next(&swaps) > 0) {
                /* A swap file of another disk may be mounted below. */
                if (!swaps.source || !path_is_in(swaps.source, where) ||
                    !same_filesystem(swaps.source, where))
                        continue;
                if (path_is_roots(swaps.source))
                        add_or_say(f, REMEDY_SWAPOFF, swaps.source, swaps.source);
                else
                        freeing_leave_out(f, REMEDY_NONE, swaps.source);
        }
}

/* ---- mounts ---- */

/* The mount table has an absolute path. A user who may change a directory in it makes it lead to
 * another mount. */
struct mount_names {
        const char *where;
        char source[REMEDY_OPERAND_MAX]; /* of the mount on top there, or "" */
        dev_t devno;
        bool found, covered; /* covered: more than one file system is mounted there */
        unsigned n;          /* mounts of this file system */
        bool shown;          /* the source names no other file system */
        bool roots;          /* only root can change the paths of its mounts */
};

static void mount_names_find(const struct roots *roots, struct mount_names *m)
{
        _cleanup_(mount_table_close) struct mount_table t;

        if (mount_table_open(&t, MOUNTS_OF_PROCESS, roots->proc, "1/mountinfo") < 0)
                return;
        while (mount_table_next(&t) > 0) {
                if (!streq(t.target, m->where))
                        continue;
                m->covered = m->covered || (m->found && t.devno != m->devno);
                m->found = true;
                m->devno = t.devno;
                if (!t.source || !startswith(t.source, "/dev/") ||
                    !copy_string(m->source, sizeof(m->source), t.source))
                        m->source[0] = '\0';
        }
}

static void mount_names_count(const struct roots *roots, struct mount_names *m)
{
        _cleanup_(mount_table_close) struct mount_table t;

        if (mount_table_open(&t, MOUNTS_OF_PROCESS, roots->proc, "1/mountinfo") < 0)
                return;
        while (mount_table_next(&t) > 0)
                if (t.devno == m->devno) {
                        m->n++;
                        m->roots = m->roots && path_is_roots(t.target);
                } else if (t.source && streq(t.source, m->source))
                        m->shown = false;
}

/* By its path; by its device if another user may change the path. */
static void freeing_unmount(struct freeing *f, const struct user *u)
{
        struct mount_names m = {.where = u->where, .shown = true, .roots = path_is_roots(u->where)};
        unsigned number[2] = {};
        bool below; /* another file system is mounted over it */

        mount_names_find(f->roots, &m);
        if (m.found)
                mount_names_count(f->roots, &m);
        below = m.covered &&
                (attr_read_devno(f->roots->sys, path_join("class/block/", u->device, "/dev"),
                                 number, number + 1) < 0 ||
                 m.devno != makedev(number[0], number[1]));
        if (m.roots && !below)
                add_or_say(f, REMEDY_UMOUNT, u->where, u->where);
        else if (*m.source && m.shown && !m.covered)
                add_or_say(f, m.n > 1 ? REMEDY_UMOUNT_ALL : REMEDY_UMOUNT, m.source, u->where);
        else
                freeing_leave_out(f, REMEDY_NONE, u->where);
}

/* ---- devices that stand on it ---- */

static void read_mapping(const struct roots *roots, const char *name, const char *attribute,
                         char *ret, size_t size)
{
        if (attr_read(roots->sys, path_join("class/block/", name, "/dm/", attribute), ret, size) <
            0)
                ret[0] = '\0';
}

/* A layer of a volume, which LVM stops with the volume. */
static bool is_layer(const struct roots *roots, const char *name, const char *uuid)
{
        _cleanup_strv_ char **above = NULL;
        int n = 0;

        if (startswith(uuid, "LVM-"))
                n = dir_list(roots->sys, path_join("class/block/", name, "/holders"), "", &above);
        for (int i = 0; i < n; i++) {
                char its[160];

                read_mapping(roots, above[i], "uuid", its, sizeof(its));
                if (startswith(its, "LVM-"))
                        return true;
        }
        return false;
}

/* For dir_each() over holders/: a device can be stopped only after those that stand on it. */
static int stop_stacked(const char *name, void *data)
{
        char mapping[160], uuid[160], operand[REMEDY_OPERAND_MAX];
        struct freeing *f = data;

        if (++f->depth < STACK_DEPTH)
                (void) dir_each(f->roots->sys, path_join("class/block/", name, "/holders"),
                                stop_stacked, f);
        f->depth--;
        read_mapping(f->roots, name, "name", mapping, sizeof(mapping));
        read_mapping(f->roots, name, "uuid", uuid, sizeof(uuid));
        if (!is_layer(f->roots, name, uuid))
                add_or_say(f, freeing_holder(name, mapping, uuid, operand), operand,
                           *mapping ? mapping : name);
        return 0;
}

static void free_user(struct freeing *f, const struct user *u)
{
        char operand[REMEDY_OPERAND_MAX];
        enum remedy id = freeing_user(u, operand);

        if (freeing_ends_process(u))
                end_processes(f, u);
        else if (u->unsure && f->depth > 1)
                /* it does not answer: it stands on the disk, or not, but not on another device of
                 * the disk */
                return;
        else if (id == REMEDY_LOOP)
                detach_loop(f, u, operand);
        else if (id == REMEDY_UMOUNT) {
                stop_swap_files(f, u->where);
                freeing_unmount(f, u);
        } else if (id != REMEDY_NONE)
                add_or_say(f, id, operand, u->where ?: operand);
}

static void free_users(struct freeing *f, const struct user *users, size_t n)
{
        if (++f->depth < STACK_DEPTH) {
                /* The mount table lists a mount before those below it. */
                for (size_t i = n; i > 0; i--)
                        free_user(f, users + i - 1);
                for (size_t i = 0; i < n; i++)
                        if (users[i].kind == USER_HOLDER && users[i].where && !users[i].btrfs)
                                (void) stop_stacked(users[i].where, f);
        }
        f->depth--;
}

void freeing_read(const struct roots *roots, const struct disk *d, struct freeing_list *ret)
{
        struct freeing f = {.roots = roots, .list = ret};

        *ret = (struct freeing_list){};
        if (!disk_has_root(d))
                free_users(&f, d->users, d->n_users);
}

void freeing_done(struct freeing_list *list)
{
        strv_free(list->commands);
        strv_free(list->left_out);
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
        const char *free_it = _("To free it:"), *key = free_it;
        _cleanup_(freeing_done) struct freeing_list list = {};

        say_users(v);
        freeing_read(&c->client.roots, &v->disk, &list);
        for (size_t i = 0; i < list.n; i++) {
                log_info("%s%*s %s", key, fold_blanks(key, fold_width(free_it)), "",
                         list.commands[i]);
                key = "";
        }
        for (size_t i = 0; i < list.n_left_out; i++)
                log_info("%s", list.left_out[i]);
}

int tell_deferred(const struct ctl *c, const char *label, const struct view *v)
{
        char remedy[REMEDY_MAX], text[BOOT_PLACE_MAX];

        if (v->disk.n_users > 0)
                log_info("%s: in use, and still on %s:", label, view_driver(v) ?: _("no driver"));
        else
                log_info("%s: not yet. %s", label, v->reason);
        say_in_use(c, v);
        if (disk_has_root(&v->disk))
                log_info("To cancel: uasctl cancel %s", facts_name(&v->disk.facts));
        else if (v->disk.n_users > 0)
                log_info("uasd switches it as soon as it is free. To cancel: uasctl cancel %s",
                         facts_name(&v->disk.facts));
        else
                log_info("uasd switches it by itself. To cancel: uasctl cancel %s",
                         facts_name(&v->disk.facts));
        if (*disk_system_remedy(&v->disk, remedy, sizeof(remedy)))
                log_info("%s", remedy);
        if (*boot_next(c, v, !disk_has_root(&v->disk), text, sizeof(text)))
                log_info(_("Next boot: %s"), text);
        return UASD_EXIT_DEFERRED;
}
