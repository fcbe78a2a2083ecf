/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/events.h"

#include <poll.h>
#include <pwd.h>
#include <time.h>

#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "ctl/context.h"
#include "sys/io/clock.h"
#include "sys/io/sysfs.h"
#include "sys/state/history.h"
#include "term/terminal.h"

int journal_open(const char *root, sd_journal **ret)
{
        if (root)
                return sd_journal_open_directory(ret, root, SD_JOURNAL_OS_ROOT);
        return sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY);
}

void journal_closep(sd_journal **j)
{
        sd_journal_close(*j);
}

static int journal_match(sd_journal *j, const char *field, const char *value)
{
        char text[64];

        (void) snprintf(text, sizeof(text), "%s=%s", field, value);
        return sd_journal_add_match(j, text, 0);
}

/* A copy of the field's value; NULL: no such field. */
static char *journal_value(sd_journal *j, const char *field)
{
        size_t size, name = strlen(field) + 1;
        const void *data;

        if (sd_journal_get_data(j, field, &data, &size) < 0 || size < name)
                return NULL;
        return need(strndup((const char *) data + name, size - name));
}

int journal_boot(const struct roots *roots, char ret[static SD_ID128_STRING_MAX])
{
        char text[40]; /* a UUID with its hyphens, and the end of the line */
        sd_id128_t id;
        int r;

        if (attr_read(roots->proc, "sys/kernel/random/boot_id", text, sizeof(text)) < 0)
                return -ENODATA;
        r = sd_id128_from_string(text, &id);
        if (r < 0)
                return r;
        (void) sd_id128_to_string(id, ret);
        return 0;
}

static void entry_done(struct log_entry *e)
{
        for (size_t v = 0; v < _EVENT_VALUE_MAX; v++)
                free(e->values[v]);
        *e = (struct log_entry){};
}

void events_done(struct events *e)
{
        for (size_t i = 0; i < e->n; i++)
                entry_done(&e->list[i]);
        free(e->list);
        sd_journal_close(e->open);
        *e = (struct events){};
}

/* ---- which disks ---- */

struct events_disk {
        char id[USB_ID_MAX]; /* as in the journal */
        /* without a serial number only the port distinguishes two of a kind; "": any */
        char interface[INTERFACE_NAME_MAX];
        /* prefix of its records; the whole key without a serial number */
        char key[HISTORY_KEY_MAX];
};

void events_filter_add(struct events_filter *f, const struct facts *disk, const char *id)
{
        struct events_disk d = {};
        char text[USB_ID_MAX];

        if (disk)
                id = history_usb_id(disk, text, sizeof(text));
        (void) make_harmless(id, d.id, sizeof(d.id));
        if (!disk)
                (void) snprintf(d.key, sizeof(d.key), "%s@", id);
        else if (disk->serial[0])
                (void) history_key_disk(disk, d.key, sizeof(d.key));
        else {
                (void) history_key(disk, d.key, sizeof(d.key));
                (void) copy_string(d.interface, sizeof(d.interface), disk->interface);
        }
        need_push(f->disks, f->n_disks, d);
}

void events_filter_done(struct events_filter *f)
{
        free(f->disks);
        *f = (struct events_filter){};
}

static bool fits_entry(const struct events_filter *f, const struct log_entry *e)
{
        const char *id = e->values[EVENT_USB_ID] ?: "",
                   *interface = e->values[EVENT_INTERFACE] ?: "";

        for (size_t i = 0; i < f->n_disks; i++)
                if (streq(f->disks[i].id, id) &&
                    (!*f->disks[i].interface || streq(f->disks[i].interface, interface)))
                        return true;
        return !f->disks;
}

static bool fits_record(const struct events_filter *f, const char *key)
{
        for (size_t i = 0; i < f->n_disks; i++) {
                const struct events_disk *d = &f->disks[i];

                /* The key of a disk without a serial number is whole. */
                if (startswith(key, d->key) && (!*d->interface || streq(d->key, key)))
                        return true;
        }
        return !f->disks;
}

static struct log_entry *events_grow(struct events *e)
{
        need_push(e->list, e->n, (struct log_entry){});
        return &e->list[e->n - 1];
}

static int events_compare(const void *a, const void *b)
{
        const struct log_entry *x = a, *y = b;

        return (x->usec > y->usec) - (x->usec < y->usec);
}

void events_sort(struct events *e)
{
        if (e->n > 1)
                qsort(e->list, e->n, sizeof(*e->list), events_compare);
}

void events_drop(struct events *e, bool (*drop)(const struct events *e, size_t i))
{
        size_t kept = 0;

        for (size_t i = 0; i < e->n; i++) {
                if (drop(e, i))
                        entry_done(&e->list[i]);
                else if (kept++ < i) {
                        e->list[kept - 1] = e->list[i];
                        e->list[i] = (struct log_entry){};
                }
        }
        e->n = kept;
}

/* ---- the journal ---- */

static const struct {
        const char *id, *word;
} endings[] = {
        /* clang-format off */
        {MESSAGE_SWITCHED, "switched"}, {MESSAGE_WAITING, "waiting"},           {MESSAGE_ROLLED_BACK, "rolled-back"},
        {MESSAGE_FAILED, "failed"},     {MESSAGE_STRANDED, "stranded"},         {MESSAGE_UNPLUGGED, "unplugged"},
        {MESSAGE_RELEASED, "released"}, {MESSAGE_HELD, "held"},                 {MESSAGE_DISTRUSTED, "distrusted"},
        {MESSAGE_TROUBLE, "trouble"},   {MESSAGE_TRIAL_PASSED, "trial-passed"}, {MESSAGE_TRIM, "trim"},
        {MESSAGE_EJECTED, "ejected"},   {MESSAGE_NOT_UAS, "not-uas"},           {MESSAGE_CLEARED, "cleared"},
        {MESSAGE_BOOT_ENTRY, "boot-entry"}, {MESSAGE_ASKED, "asked"},
        /* clang-format on */
};

const struct event_field event_fields[_EVENT_VALUE_MAX] = {
        [EVENT_WORD] = {NULL, "event", ""},
        [EVENT_USB_ID] = {FIELD_USB_ID, "usb_id", ", "},
        [EVENT_INTERFACE] = {FIELD_INTERFACE, "interface", " at "},
        [EVENT_PORT] = {NULL, "port", " at "},
        [EVENT_DISKS] = {FIELD_DISK, "disks", NULL},
        [EVENT_STATE] = {FIELD_STATE, "state", NULL},
        [EVENT_FROM] = {FIELD_FROM, "from", ", "},
        [EVENT_TO] = {FIELD_TO, "to", " to "},
        [EVENT_REASON] = {FIELD_REASON, "reason_id", ", "},
        [EVENT_STEP] = {FIELD_STEP, "step", ", step "},
        [EVENT_UID] = {FIELD_UID, "uid", NULL},
        [EVENT_TEXT] = {"MESSAGE", "text", ": "},
};

const char *events_word(size_t i)
{
        if (i >= ELEMENTSOF(endings))
                return NULL;
        return endings[i].word;
}

char *events_user(const struct log_entry *e, char *ret, size_t size)
{
        const char *uid = e->values[EVENT_UID];
        const struct passwd *user = uid ? getpwuid((uid_t) strtoul(uid, NULL, 10)) : NULL;
        char name[64];

        *ret = '\0';
        if (!user)
                return ret;
        (void) snprintf(ret, size, " (%s)", make_harmless(user->pw_name, name, sizeof(name)));
        return ret;
}

/* The index of the journal then finds the entries of one disk. */
static int match_disk(sd_journal *j, const struct events_filter *f)
{
        char text[sizeof(FIELD_USB_ID "=") + USB_ID_MAX];

        if (f->n_disks != 1)
                return 0;
        (void) snprintf(text, sizeof(text), FIELD_USB_ID "=%s", f->disks[0].id);
        return sd_journal_add_match(j, text, 0);
}

static int match_all(sd_journal *j, const struct events_filter *f)
{
        int r = journal_match(j, "_UID", "0"); /* any user can write entries that look like it */

        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(endings); i++) {
                r = journal_match(j, "MESSAGE_ID", endings[i].id);
                if (r < 0)
                        return r;
        }
        r = match_disk(j, f);
        if (r < 0 || !f->boot)
                return r;
        return journal_match(j, "_BOOT_ID", f->boot);
}

/* The message in the language of this program, if uasd has sent its parts. */
static void take_parts(sd_journal *j, char **text)
{
        _cleanup_free_ char *parts = journal_value(j, FIELD_PARTS);
        char whole[LOG_VALUE_MAX];

        if (!parts)
                return;
        free(*text);
        *text = need(strdup(sentence_fill(parts, whole, sizeof(whole))));
}

static void take_entry(sd_journal *j, const struct events_filter *f, struct events *e)
{
        struct log_entry *event = events_grow(e);
        _cleanup_free_ char *id = NULL;

        (void) sd_journal_get_realtime_usec(j, &event->usec);
        for (enum event_value i = 0; i < _EVENT_VALUE_MAX; i++)
                if (event_fields[i].journal)
                        event->values[i] = journal_value(j, event_fields[i].journal);
        take_parts(j, &event->values[EVENT_TEXT]);
        id = journal_value(j, "MESSAGE_ID");
        for (size_t i = 0; id && i < ELEMENTSOF(endings); i++)
                if (streq(endings[i].id, id))
                        event->values[EVENT_WORD] = need(strdup(endings[i].word));
        if (!fits_entry(f, event)) {
                entry_done(event);
                e->n--;
        }
}

static int take_newest(sd_journal *j, const struct events_filter *f, struct events *e)
{
        int r = sd_journal_seek_tail(j);

        while (r >= 0 && e->n < f->newest && (r = sd_journal_previous(j)) > 0)
                take_entry(j, f, e);
        return r;
}

int events_from_journal(const char *root, const struct events_filter *f, struct events *e)
{
        sd_journal *j;
        int r = journal_open(root, &e->open);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        j = e->open;
        /* A journal that does not exist or is not readable opens as well, and is empty. */
        e->journal = sd_journal_seek_head(j) >= 0 && sd_journal_next(j) > 0;
        if (!e->journal)
                return 0;
        r = match_all(j, f);
        if (r < 0)
                return r;
        if (f->newest > 0)
                return take_newest(j, f, e);
        r = sd_journal_seek_realtime_usec(j, f->since_usec);
        if (r < 0)
                return r;
        while ((r = sd_journal_next(j)) > 0)
                take_entry(j, f, e);
        return r;
}

/* Returns 1 when there may be new entries, 0 when the reader of stdout is gone, or -errno. */
static int wait_for_more(sd_journal *j)
{
        struct pollfd fds[] = {
                {.fd = sd_journal_get_fd(j), .events = (short) sd_journal_get_events(j)},
                {.fd = STDOUT_FILENO}};
        uint64_t until = UINT64_MAX, now = now_monotonic();
        int wait = -1;

        (void) sd_journal_get_timeout(j, &until);
        if (until != UINT64_MAX)
                wait = 0;
        if (until != UINT64_MAX && until > now)
                wait = (int) ((until - now) / USEC_PER_MSEC) + 1;
        if (poll(fds, ELEMENTSOF(fds), wait) < 0 && errno != EINTR)
                return -errno;
        if (fds[1].revents)
                return 0;
        if (sd_journal_process(j) < 0)
                return -EIO;
        return 1;
}

int events_follow(struct events *e, const struct events_filter *f,
                  void (*tell)(const struct log_entry *e))
{
        struct events more = {};
        int r = sd_journal_get_fd(e->open);

        if (r < 0)
                return r;
        /* It was read before it was watched, and printing may have taken long: entries may have
         * come. So waiting comes last. */
        for (;;) {
                while ((r = sd_journal_next(e->open)) > 0)
                        take_entry(e->open, f, &more);
                for (size_t i = 0; i < more.n; i++)
                        tell(&more.list[i]);
                events_done(&more);
                if (fflush(stdout) != 0)
                        return 0;
                if (r < 0)
                        return r;
                r = wait_for_more(e->open);
                if (r <= 0)
                        return r;
        }
}

/* ---- messages of the kernel ---- */

#define KERNEL_MESSAGES_MAX 100 /* the newest */
#define HOSTS_MAX 1024

struct kernel_search {
        const struct views *views;
        struct events *events;
        bool hosts[HOSTS_MAX]; /* of usb-storage or uas; a switched disk had others before */
};

/* Parses "+scsi:host3", "+scsi:target3:0:0", "+scsi:3:0:0:0" or "host3". */
static bool message_host(const char *name, unsigned *ret)
{
        return sscanf(name, "+scsi:host%u", ret) == 1 || sscanf(name, "+scsi:target%u", ret) == 1 ||
               sscanf(name, "+scsi:%u", ret) == 1 || sscanf(name, "host%u", ret) == 1;
}

/* Lines "scsi host3: uas" and "scsi host3: usb-storage 2-1:1.0". The messages of uas do not name
 * the disk. */
static void note_host(struct kernel_search *s, const char *text)
{
        unsigned host;
        char driver[16];

        if (sscanf(text, "scsi host%u: %15s", &host, driver) == 2 && host < HOSTS_MAX &&
            (streq(driver, "uas") || streq(driver, "usb-storage")))
                s->hosts[host] = true;
}

static bool is_about(const struct kernel_search *s, const char *device, const char *text)
{
        unsigned host;

        if (message_host(device, &host))
                return host < HOSTS_MAX && s->hosts[host];
        for (size_t i = 0; i < s->views->n; i++) {
                const struct facts *f = &s->views->list[i].disk.facts;
                const char *interface = startswith(device, "+usb:"),
                           *port = startswith(text, "usb "), *rest = NULL;

                if (interface && streq(interface, f->interface))
                        return true;
                /* Its number, c189:MINOR, was different at an earlier plug. */
                if (port)
                        rest = startswith(port, f->port);
                if (rest && *rest == ':')
                        return true;
        }
        return false;
}

static void take_message(sd_journal *j, struct kernel_search *s)
{
        _cleanup_free_ char *device = NULL, *text = NULL;
        struct log_entry *event;

        device = journal_value(j, "_KERNEL_DEVICE");
        text = journal_value(j, "MESSAGE");
        if (!device || !text)
                return;
        note_host(s, text);
        if (!is_about(s, device, text))
                return;
        if (s->events->n == KERNEL_MESSAGES_MAX) {
                entry_done(s->events->list);
                memmove(s->events->list, s->events->list + 1,
                        --s->events->n * sizeof(*s->events->list));
        }
        event = events_grow(s->events);
        (void) sd_journal_get_realtime_usec(j, &event->usec);
        event->values[EVENT_TEXT] = TAKE_PTR(text);
}

int events_from_kernel(const struct ctl *c, const struct views *v, struct events *e)
{
        _cleanup_(journal_closep) sd_journal *j = NULL;
        struct kernel_search s = {.views = v, .events = e};
        char boot[SD_ID128_STRING_MAX];
        const char *const matches[][2] = {{"_BOOT_ID", boot},
                                          {"_TRANSPORT", "kernel"},
                                          {"_KERNEL_SUBSYSTEM", "usb"},
                                          {"_KERNEL_SUBSYSTEM", "scsi"}};
        unsigned host;
        int r = journal_open(c->root, &j);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        for (size_t i = 0; i < v->n; i++)
                if (message_host(v->list[i].disk.host, &host) && host < HOSTS_MAX)
                        s.hosts[host] = true;
        /* Host numbers are valid only in one boot. */
        r = journal_boot(&c->client.roots, boot);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(matches); i++) {
                r = journal_match(j, matches[i][0], matches[i][1]);
                if (r < 0)
                        return r;
        }
        r = sd_journal_seek_head(j);
        if (r < 0)
                return r;
        while ((r = sd_journal_next(j)) > 0)
                take_message(j, &s);
        return r;
}

/* ---- the record ---- */

struct reading {
        const struct events_filter *filter;
        struct events *events;
};

static uint64_t record_usec(const char *date)
{
        struct tm tm = {};
        time_t t;

        if (!strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm) || (t = timegm(&tm)) < 0)
                return 0;
        return (uint64_t) t * USEC_PER_SEC;
}

static int events_take_record(const char *key, const struct history *h, void *data)
{
        struct reading *r = data;
        const char *at = strchr(key, '@');
        uint64_t usec = record_usec(h->date);
        struct log_entry *event;
        char text[HISTORY_TEXT_MAX];
        const char *state;

        if (!at || usec < r->filter->since_usec || !fits_record(r->filter, key))
                return 0;
        event = events_grow(r->events);
        event->usec = usec;
        event->record = true;
        event->values[EVENT_WORD] = need(strdup(history_state_to_string(h->state)));
        event->values[EVENT_USB_ID] = need(strndup(key, (size_t) (at - key)));
        event->values[EVENT_PORT] = need(strdup(at + 1));
        state = event->values[EVENT_WORD];
        if (h->state == HISTORY_ENDED)
                state = N_("trial without a result");
        if (h->reason[0])
                (void) sentence(text, sizeof(text), N_("%s with firmware %x.%02x on Linux %s: %s"),
                                state, h->firmware >> 8, h->firmware & 0xff, h->kernel, h->reason);
        else
                (void) sentence(text, sizeof(text), N_("%s with firmware %x.%02x on Linux %s"),
                                state, h->firmware >> 8, h->firmware & 0xff, h->kernel);
        event->values[EVENT_TEXT] = need(strdup(text));
        return 0;
}

int events_from_records(const struct roots *roots, const struct events_filter *f, struct events *e)
{
        return history_each(roots, events_take_record, &(struct reading){f, e});
}
