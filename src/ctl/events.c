/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/events.h"

#include <time.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "ctl/journal.h"
#include "sys/state/history.h"
#include "term/program.h"

void events_done(struct events *e)
{
        for (size_t i = 0; i < e->n; i++)
                for (size_t v = 0; v < _EVENT_VALUE_MAX; v++)
                        free(e->list[i].values[v]);
        free(e->list);
        *e = (struct events){};
}

static struct log_entry *grow(struct events *e)
{
        e->list = need(reallocarray(e->list, e->n + 1, sizeof(*e->list)));
        e->list[e->n] = (struct log_entry){};
        return &e->list[e->n++];
}

static int compare(const void *a, const void *b)
{
        const struct log_entry *x = a, *y = b;

        return x->usec < y->usec ? -1 : x->usec > y->usec;
}

void events_sort(struct events *e)
{
        if (e->n > 1)
                qsort(e->list, e->n, sizeof(*e->list), compare);
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
        /* clang-format on */
};

static const struct {
        const char *name;
        enum event_value value;
} fields[] = {
        {FIELD_USB_ID, EVENT_USB_ID}, {FIELD_INTERFACE, EVENT_INTERFACE}, {FIELD_DISK, EVENT_DISKS},
        {FIELD_STATE, EVENT_STATE},   {FIELD_FROM, EVENT_FROM},           {FIELD_TO, EVENT_TO},
        {FIELD_REASON, EVENT_REASON}, {FIELD_STEP, EVENT_STEP},           {"MESSAGE", EVENT_TEXT},
};

const char *events_word(size_t i)
{
        return i < ELEMENTSOF(endings) ? endings[i].word : NULL;
}

static int match_all(sd_journal *j, const struct events_filter *f)
{
        const struct facts *disk = f->disk;
        char id[USB_ID_MAX];
        int r = journal_match(j, "_UID", "0"); /* any user can write entries that look like it */

        for (size_t i = 0; i < ELEMENTSOF(endings) && r >= 0; i++)
                r = journal_match(j, "MESSAGE_ID", endings[i].id);
        if (r >= 0 && disk)
                r = journal_match(j, FIELD_USB_ID, history_usb_id(disk, id, sizeof(id)));
        if (r >= 0 && f->id)
                r = journal_match(j, FIELD_USB_ID, f->id);
        /* Without a serial number only the port distinguishes two of a kind. */
        if (r >= 0 && disk && !disk->serial[0])
                r = journal_match(j, FIELD_INTERFACE, disk->interface);
        if (r >= 0 && f->boot)
                r = journal_match(j, "_BOOT_ID", f->boot);
        return r;
}

static void take_entry(sd_journal *j, void *data)
{
        struct log_entry *event = grow(data);
        _cleanup_free_ char *id = NULL;

        (void) sd_journal_get_realtime_usec(j, &event->usec);
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                event->values[fields[i].value] = journal_value(j, fields[i].name);
        id = journal_value(j, "MESSAGE_ID");
        for (size_t i = 0; id && i < ELEMENTSOF(endings); i++)
                if (streq(endings[i].id, id))
                        event->values[EVENT_WORD] = need(strdup(endings[i].word));
}

int events_from_journal(const char *root, const struct events_filter *f, struct events *e)
{
        _cleanup_(journal_closep) sd_journal *j = NULL;
        int r = journal_open(root, &j);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        /* A journal that does not exist or is not readable opens as well, and is empty. */
        e->journal = sd_journal_seek_head(j) >= 0 && sd_journal_next(j) > 0;
        if (!e->journal)
                return 0;
        r = match_all(j, f);
        if (r >= 0)
                r = sd_journal_seek_realtime_usec(j, f->since_usec);
        return r < 0 ? r : journal_each(j, take_entry, e);
}

/* ---- the record ---- */

struct records {
        const struct events_filter *filter;
        struct events *events;
        char key[HISTORY_KEY_MAX]; /* prefix of the keys; the whole key without a serial number */
};

static uint64_t usec_of(const char *date)
{
        struct tm tm = {};
        time_t t;

        if (!strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm) || (t = timegm(&tm)) < 0)
                return 0;
        return (uint64_t) t * USEC_PER_SEC;
}

static int take_record(const char *key, const struct history *h, void *data)
{
        struct records *r = data;
        const char *at = strchr(key, '@');
        uint64_t usec = usec_of(h->date);
        struct log_entry *event;

        if (!at || usec < r->filter->since_usec || strncmp(key, r->key, strlen(r->key)) != 0)
                return 0;
        if (r->filter->disk && !r->filter->disk->serial[0] && !streq(key, r->key))
                return 0;
        event = grow(r->events);
        event->usec = usec;
        event->record = true;
        event->values[EVENT_WORD] = need(strdup(history_state_to_string(h->state)));
        event->values[EVENT_USB_ID] = need(strndup(key, (size_t) (at - key)));
        event->values[EVENT_PORT] = need(strdup(at + 1));
        if (asprintf(&event->values[EVENT_TEXT], "%s with firmware %x.%02x on Linux %s%s%s", event->values[EVENT_WORD],
                     h->firmware >> 8, h->firmware & 0xff, h->kernel, h->reason[0] ? ": " : "", h->reason) < 0)
                no_memory();
        return 0;
}

int events_from_records(const struct roots *r, const struct events_filter *f, struct events *e)
{
        struct records records = {.filter = f, .events = e};

        if (f->id)
                (void) snprintf(records.key, sizeof(records.key), "%s@", f->id);
        if (f->disk)
                (void) (f->disk->serial[0] ? history_key_disk : history_key)(f->disk, records.key, sizeof(records.key));
        return history_each(r, take_record, &records);
}
