/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/source.h"
#include "core/explain.h"
#include "ctl/events.h"
#include "ctl/kernel-log.h"
#include "ctl/output.h"
#include "ctl/redact.h"
#include "ctl/report.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/quirks/sources.h"
#include "sys/udev/bridgedb.h"

#define WORDS_MAX 32
#define EVENTS_MAX 200 /* the newest */

static int print_disk(const struct ctl *c, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        struct explain_row rows[_REASON_MAX];
        struct quirk_word words[WORDS_MAX];
        struct quirk_facts quirks = {};
        char platform[PLATFORM_MAX];
        struct db_entry entry;
        struct health health = {};
        json_object *o;
        size_t n;
        int k;

        k = quirk_facts_read(&c->client.roots, &quirks);
        if (k >= 0 && c->options->redact)
                k = redact_quirks(&quirks);
        if (k >= 0)
                k = health_read(&c->client.roots, v, &health);
        if (k < 0) {
                quirk_facts_done(&quirks);
                return k;
        }
        platform_read(&c->client.roots, platform);
        (void) bridgedb_read(&c->client.roots, f->port, &entry);
        n = explain(f, rows, ELEMENTSOF(rows));
        o = json_disk(v);
        put(o, "rows", json_rows(rows, n));
        put(o, "quirks", json_quirks(words, quirk_words(&quirks, f->vid, f->pid, words, ELEMENTSOF(words))));
        put(o, "database", json_database(&entry, f->bcd, platform));
        put(o, "commands", json_commands(&health));
        put(o, "trim", json_trim(&health, f->driver));
        put(o, "link", json_link(&health.link));
        json_print(json_of_disk(o));
        health_done(&health);
        quirk_facts_done(&quirks);
        return k;
}

static int read_all(const struct ctl *c, const struct views *daemon, struct views *views, struct events *events,
                    struct kernel_log *kernel)
{
        int k = 0;

        for (size_t i = 0; i < views->n && k >= 0; i++)
                k = view_take_life(&views->list[i], daemon);
        if (k >= 0 && events_from_journal(c->root, &(struct events_filter){}, events) == -ENOMEM)
                k = -ENOMEM;
        if (k >= 0 && events_from_records(&c->client.roots, &(struct events_filter){}, events) == -ENOMEM)
                k = -ENOMEM;
        if (k >= 0 && kernel_log_read(c, views, kernel) == -ENOMEM)
                k = -ENOMEM;
        events_sort(events);
        return k < 0 || !c->options->redact ? k : redact_all(views, events, kernel);
}

int verb_report(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {}, daemon = {};
        _cleanup_(events_done) struct events events = {};
        _cleanup_(kernel_log_done) struct kernel_log kernel = {};
        struct events newest;
        bool answers;
        int code, k;

        if (c->options->hwdb)
                return report_hwdb(c, c->options->hwdb);
        code = source_local(&c->client, true, &views);
        if (code != UASD_EXIT_OK)
                return code;
        answers = source_look(&c->client, &daemon);
        k = read_all(c, &daemon, &views, &events, &kernel);
        if (k < 0)
                return UASD_EXIT_FAILED;
        report_machine(c, answers);
        for (size_t i = 0; i < views.n && k >= 0; i++) {
                putchar('\n');
                k = print_disk(c, &views.list[i]);
        }
        newest = events;
        if (events.n > EVENTS_MAX) {
                newest.list += events.n - EVENTS_MAX;
                newest.n = EVENTS_MAX;
        }
        putchar('\n');
        if (k >= 0)
                json_print(json_events(&newest));
        kernel_log_print(&kernel);
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
