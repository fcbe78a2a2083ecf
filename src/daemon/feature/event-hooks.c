/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/event-hooks.h"

#include <fcntl.h>
#include <sys/param.h>
#include <sys/time.h>
#include <time.h>

#include "common/child.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "core/disk-words.h"
#include "daemon/work/child.h"
#include "daemon/work/hooks.h"
#include "daemon/work/marks.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/usb/link.h"

#define EVENT_TEXT_MAX 1024
#define EVENT_FACTS_MAX 16 /* variables of a hook */
/* PID 1 waits for the hooks. uasd only waits until it has the order. */
#define EVENT_START_USEC (5 * USEC_PER_SEC)
#define EVENT_PAUSE_USEC (60 * USEC_PER_SEC)
#define EVENT_PAUSE_MOST_USEC (3600 * USEC_PER_SEC)

/* message: its id in the journal, or NULL */
static const struct {
        const char *word, *message;
} hook_events[_HOOK_EVENT_MAX] = {
        [HOOK_EVENT_DISTRUSTED] = {"distrusted", MESSAGE_DISTRUSTED},
        [HOOK_EVENT_ROLLED_BACK] = {"rolled-back", MESSAGE_ROLLED_BACK},
        [HOOK_EVENT_FAILED] = {"failed", MESSAGE_FAILED},
        [HOOK_EVENT_GAVE_UP] = {"gave-up", MESSAGE_STRANDED},
        [HOOK_EVENT_TRIAL_PASSED] = {"trial-passed", MESSAGE_TRIAL_PASSED},
        [HOOK_EVENT_SLOW_LINK] = {"slow-link", NULL},
};

/* ---- the files ---- */

/* Starts the hooks for a file, in a child of uasd: PID 1 may be slow. */
static void event_file_start(const struct roots *roots, const char *name)
{
        const char *const argv[] = {PROGRAM_UASD, OPTION_EVENT, name, NULL};
        int r = pid1_start(roots, path_join(UNIT_EVENT(name)), awake_in(EVENT_START_USEC));

        if (r == -ENOENT) /* the hooks go on if uasd ends */
                r = child_spawn(
                        &(struct program){.argv = argv, .fds = {-1, -1, -1}, .new_signals = true});
        if (r < 0 && r != -ETIMEDOUT)
                log_warning("cannot start the hooks in " ETC_PATH "/" ETC_EVENT ": %s",
                            strerror(-r));
}

static void event_files_in_child(const struct roots *roots, void *data, int out)
{
        _cleanup_strv_ char **names = NULL;

        (void) dir_list(roots->run, RUN_EVENT, "", &names);
        for (char **n = names; n && *n; n++)
                event_file_start(roots, *n);
}

static void event_files_start(void *data);

/* A file that is still there is started again: an event for which the unit has begun has none. */
static void event_files_on_end(void *data, const struct child_end *end)
{
        struct manager *m = data;
        struct event_hooks *h = &m->event_hooks;
        _cleanup_strv_ char **names = NULL;

        h->worker = NULL;
        if (h->again) {
                event_files_start(m);
                return;
        }
        if (dir_list(m->roots.run, RUN_EVENT, "", &names) <= 0)
                return;
        (void) later_call(&h->later, m->event, h->pause, event_files_start, m);
        h->pause = MIN(2 * h->pause, EVENT_PAUSE_MOST_USEC);
}

static void event_files_start(void *data)
{
        struct manager *m = data;
        struct event_hooks *h = &m->event_hooks;
        int r;

        h->again = h->worker != NULL;
        if (h->worker)
                return;
        r = child_run(m, event_files_in_child, event_files_on_end, m, -1, &h->worker);
        if (r < 0)
                (void) later_call(&h->later, m->event, EVENT_PAUSE_USEC, event_files_start, m);
}

void event_hooks_start(struct manager *m)
{
        _cleanup_strv_ char **names = NULL;

        m->event_hooks.pause = EVENT_PAUSE_USEC;
        if (dir_list(m->roots.run, RUN_EVENT, "", &names) > 0)
                event_files_start(m);
}

/* ---- an event ---- */

static void event_fact_add(char *text, size_t size, const char *name, const char *value)
{
        char harmless[LOG_VALUE_MAX];

        text_add(text, size, "UASD_%s=%s\n", name,
                 make_harmless(value, harmless, sizeof(harmless)));
}

static int event_file_write(const struct entry *e, const char *word, const char *text,
                            const char *from, const char *to)
{
        const struct disk *d = &e->life.disk;
        char names[256], english[EVENT_TEXT_MAX], message[EVENT_TEXT_MAX], when[64], file[64];
        char facts[4 * LOG_VALUE_MAX] = "";
        struct timeval now;
        struct tm local;

        (void) luns_names(d->luns, d->n_luns, names, sizeof(names));
        (void) gettimeofday(&now, NULL);
        (void) strftime(when, sizeof(when), "%FT%T%z", localtime_r(&now.tv_sec, &local));
        (void) snprintf(message, sizeof(message), "%s: %s", *names ? names : d->facts.interface,
                        sentence_english(text, english, sizeof(english)));
        event_fact_add(facts, sizeof(facts), "EVENT", word);
        event_fact_add(facts, sizeof(facts), "DISK", names);
        event_fact_add(facts, sizeof(facts), "INTERFACE", d->facts.interface);
        event_fact_add(facts, sizeof(facts), "MODEL", d->facts.product);
        event_fact_add(facts, sizeof(facts), "FROM", from);
        event_fact_add(facts, sizeof(facts), "TO", to);
        event_fact_add(facts, sizeof(facts), "REASON", disk_reason_id(d));
        event_fact_add(facts, sizeof(facts), "TIME", when);
        event_fact_add(facts, sizeof(facts), "MESSAGE", message);
        (void) snprintf(file, sizeof(file), "%s-%lld.%06ld", word, (long long) now.tv_sec,
                        (long) now.tv_usec);
        return state_write(e->manager->roots.run, path_join(RUN_EVENT "/", file), facts, false);
}

static bool event_hooks_there(const struct manager *m)
{
        _cleanup_strv_ char **names = NULL;

        return dir_list(m->roots.etc, ETC_EVENT, "", &names) > 0;
}

static bool event_is_told(const struct entry *e, enum hook_event event)
{
        return e->told & 1U << event;
}

/* The mark comes first. If uasd is killed now, the next one may find the same event again: then no
 * message is better than two. */
static void event_tell(struct entry *e, enum hook_event event, const char *text, const char *from,
                       const char *to)
{
        struct manager *m = e->manager;
        int r;

        e->told |= 1U << event;
        mark_keep(e, MARK_TOLD, &(struct attachment_mark){.told = e->told});
        r = event_file_write(e, hook_events[event].word, text, from, to);
        if (r < 0) {
                log_warning("%s: cannot write down an event for the hooks: %s",
                            e->life.disk.facts.interface, strerror(-r));
                return;
        }
        m->event_hooks.pause = EVENT_PAUSE_USEC;
        event_files_start(m);
}

void event_hooks_ending(struct entry *e, const char *message_id, const char *text, const char *from,
                        const char *to)
{
        for (enum hook_event i = 0; i < _HOOK_EVENT_MAX; i++)
                if (hook_events[i].message && streq(hook_events[i].message, message_id) &&
                    !event_is_told(e, i) && event_hooks_there(e->manager))
                        event_tell(e, i, text, from, to);
}

void event_hooks_link(struct entry *e)
{
        const struct facts *f = &e->life.disk.facts;
        char advice[EVENT_TEXT_MAX];
        struct link_facts link;

        if (event_is_told(e, HOOK_EVENT_SLOW_LINK) ||
            drops_dropped(&e->manager->drops, f, now_boottime()) || !event_hooks_there(e->manager))
                return;
        link_read(&e->manager->roots, f, &link);
        if (*link_advice(&link, advice, sizeof(advice)))
                event_tell(e, HOOK_EVENT_SLOW_LINK, advice, driver_to_string(f->driver), "");
}

unsigned event_hooks_again(struct entry *e, enum driver to)
{
        e->told &= ~(1U << HOOK_EVENT_ROLLED_BACK | 1U << HOOK_EVENT_FAILED |
                     1U << HOOK_EVENT_GAVE_UP);
        if (to == DRIVER_UAS)
                e->told &= ~(1U << HOOK_EVENT_DISTRUSTED | 1U << HOOK_EVENT_TRIAL_PASSED);
        return e->told;
}

/* ---- uasd --event ---- */

static void event_hook_run(const struct manager *m, const char *name, const char *const *env)
{
        const char *const args[2] = {NULL};
        pid_t pid = hook_start(&m->roots, m->root, ETC_EVENT, name, args, env);
        int r;

        if (pid == -EPERM)
                log_warning(ETC_PATH "/" ETC_EVENT
                                     "/%s is not run: it must be an executable file of root, and "
                                     "no other user may write to it",
                            name);
        else if (pid < 0)
                log_warning("cannot start " ETC_PATH "/" ETC_EVENT "/%s: %s", name, strerror(-pid));
        if (pid < 0)
                return;
        r = hook_end(pid);
        if (r == -ETIMEDOUT)
                log_warning(ETC_PATH "/" ETC_EVENT "/%s was killed after %llu s", name,
                            HOOK_USEC / USEC_PER_SEC);
        else if (r != 0)
                log_warning(ETC_PATH "/" ETC_EVENT "/%s has failed", name);
}

void event_hooks_run(const struct manager *m, const char *file)
{
        const char *path = path_join(RUN_EVENT "/", file);
        const char *env[EVENT_FACTS_MAX + 2] = {HOOK_PATH};
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n = 1, size;

        /* Of two that have read it, one removes it. */
        if (strchr(file, '/') || state_read_text(m->roots.run, path, &text, &size) <= 0 ||
            unlinkat(m->roots.run, path, 0) < 0)
                return;
        for (char *rest = text, *line; n <= EVENT_FACTS_MAX && (line = strsep(&rest, "\n"));)
                if (startswith(line, "UASD_"))
                        env[n++] = line;
        (void) dir_list(m->roots.etc, ETC_EVENT, "", &names);
        for (char **name = names; name && *name; name++)
                event_hook_run(m, *name, env);
}
