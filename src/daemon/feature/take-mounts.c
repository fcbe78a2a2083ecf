/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/take-mounts.h"

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/disk.h"
#include "daemon/work/child.h"
#include "daemon/work/hooks.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/users/users.h"

#define TAKE_UPTIME_SEC (5 * 60)
/* uasd waits so long for a hook at work before it ends. */
#define TAKE_STOP_USEC (5 * USEC_PER_SEC)
/* By then a free disk has been switched. If it still waits, something else uses it. */
#define TAKE_LONGEST_USEC (60 * USEC_PER_SEC)

/* ---- the hooks ---- */

#define HOOKS ETC_PATH "/" ETC_TAKE_MOUNTS

/* Starts `HOOK release|mount INTERFACE`. Returns its pid, or -errno. */
static pid_t take_hook_start(const struct entry *e, const char *name, const char *word)
{
        const struct disk *d = &e->life.disk;
        char disks[256], names[sizeof(disks) + sizeof("UASD_DISKS=")];
        const char *const args[] = {word, d->facts.interface};
        const char *const env[] = {HOOK_PATH, names, NULL};

        (void) snprintf(names, sizeof(names), "UASD_DISKS=%s",
                        luns_names(d->luns, d->n_luns, disks, sizeof(disks)));
        return hook_start(&e->manager->roots, e->manager->root, ETC_TAKE_MOUNTS, name, args, env);
}

/* Returns its exit status, or -errno if it did not start or did not end by itself. */
static int take_hook_run(const struct entry *e, const char *name, const char *word)
{
        pid_t pid = take_hook_start(e, name, word);

        return pid < 0 ? pid : hook_end(pid);
}

static int take_note(const struct roots *roots, const struct entry *e, const char *hook)
{
        struct attachment_mark mark = {};

        if (!copy_string(mark.taken_by, sizeof(mark.taken_by), hook))
                return -ENAMETOOLONG;
        return attachment_change(roots, &e->life.disk.facts, MARK_TAKEN, &mark);
}

/* The first hook that succeeds has unmounted the disk: its name is the answer. The mark comes
 * first: if uasd dies now, the next one has the disk mounted again. A hook that was killed may have
 * unmounted the disk, too: it has to mount it again. */
static void take_in_child(const struct roots *roots, void *data, int out)
{
        const struct entry *e = data;
        _cleanup_strv_ char **names = NULL;

        (void) dir_list(roots->etc, ETC_TAKE_MOUNTS, "", &names);
        for (char **n = names; n && *n; n++) {
                int r = take_note(roots, e, *n);

                if (r >= 0)
                        r = take_hook_run(e, *n, "release");
                if (r != 0 && r != -ETIMEDOUT && r != -ECANCELED)
                        continue;
                (void) !write(out, *n, strlen(*n));
                return;
        }
        (void) take_note(roots, e, "");
}

static void take_mount_in_child(const struct roots *roots, void *data, int out)
{
        const struct entry *e = data;

        if (take_hook_run(e, e->take.hook, "mount") == 0)
                (void) !write(out, "", 1);
        (void) take_note(roots, e, "");
}

/* ---- when ---- */

static void take_on_late(void *data)
{
        struct entry *e = data;

        e->take.late = true;
        take_follow(e);
}

static void take_on_end(void *data, const struct child_end *end)
{
        struct entry *e = data;
        const char *interface = e->life.disk.facts.interface;
        struct attachment_mark mark = {};

        e->take.worker = NULL;
        if (end->size > 0)
                (void) copy_part(mark.taken_by, sizeof(mark.taken_by), end->answer, end->size);
        else if (!end->exited) /* the hook goes on without it */
                (void) attachment_read(&e->manager->roots, &e->life.disk.facts, &mark);
        if (!mark.taken_by[0]) {
                log_notice("%s: no program in " HOOKS " has unmounted it", interface);
                return;
        }
        log_info("%s: " HOOKS "/%s %s", interface, mark.taken_by,
                 end->size > 0 ? "has unmounted it" : "may have unmounted it");
        take_adopt(e, mark.taken_by);
        take_follow(e);
}

static void take_on_mounted(void *data, const struct child_end *end)
{
        struct entry *e = data;

        e->take.worker = NULL;
        if (end->size > 0)
                log_info("%s: " HOOKS "/%s has mounted it again", e->life.disk.facts.interface,
                         e->take.hook);
        else
                log_warning("%s: " HOOKS "/%s has not mounted it again",
                            e->life.disk.facts.interface, e->take.hook);
        e->take.hook[0] = '\0';
}

/* The boot is some minutes old at most: later, a person may have mounted the disk. */
static bool take_is_early(const struct manager *m)
{
        char text[64];

        return attr_read(m->roots.proc, "uptime", text, sizeof(text)) > 0 &&
               strtoull(text, NULL, 10) < TAKE_UPTIME_SEC;
}

static bool take_only_mounts(const struct entry *e)
{
        const struct disk *d = &e->life.disk;
        struct users_of of = {.luns = d->luns, .n_luns = d->n_luns};
        bool only;

        if (users_find_each(&e->manager->roots, &of, 1, false) < 0)
                return false;
        only = of.n_users > 0;
        for (size_t i = 0; i < of.n_users; i++)
                only = only && of.users[i].kind == USER_MOUNT && !of.users[i].namespace;
        users_free(of.users, of.n_users);
        return only;
}

static bool take_wanted(const struct entry *e)
{
        const struct manager *m = e->manager;
        const struct life *l = &e->life;

        return m->config.take_mounts && !e->take.tried && l->disk.state == STATE_WAITING &&
               l->disk.decision.target == DRIVER_UAS && l->use.busy && !l->inhibited && !e->lease &&
               m->env.booted && !m->env.stopping && !m->env.sleeping && take_is_early(m) &&
               take_only_mounts(e);
}

static void take_run(struct entry *e, child_task_fn task, child_end_fn ended)
{
        int r = child_run(e->manager, task, ended, e, -1, &e->take.worker);

        if (r < 0)
                log_warning("%s: no hook can be started: %s", e->life.disk.facts.interface,
                            strerror(-r));
}

void take_follow(struct entry *e)
{
        enum state s = e->life.disk.state;

        if (e->take.worker)
                return;
        if (e->take.hook[0]) {
                if (s == STATE_SWITCHING || (s == STATE_WAITING && !e->take.late))
                        return;
                later_cancel(&e->take.limit);
                take_run(e, take_mount_in_child, take_on_mounted);
                return;
        }
        if (!take_wanted(e))
                return;
        e->take.tried = true;
        take_run(e, take_in_child, take_on_end);
}

void take_adopt(struct entry *e, const char *hook)
{
        if (!*hook)
                return;
        (void) copy_string(e->take.hook, sizeof(e->take.hook), hook);
        e->take.tried = true;
        (void) later_call(&e->take.limit, e->manager->event, TAKE_LONGEST_USEC, take_on_late, e);
}

void take_forget(struct entry *e)
{
        child_orphan(e->take.worker);
        later_cancel(&e->take.limit);
}

void take_end(struct manager *m)
{
        usec_t deadline = now_monotonic() + TAKE_STOP_USEC;

        FOREACH_ENTRY (e, m) {
                while (e->take.worker && child_wait(e->take.worker, deadline))
                        ;
                if (e->take.hook[0] && !e->take.worker) {
                        (void) take_hook_start(e, e->take.hook, "mount");
                        (void) take_note(&m->roots, e, "");
                }
        }
}
