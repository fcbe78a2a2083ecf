/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/explain.h"
#include "ctl/events.h"
#include "ctl/output.h"
#include "ctl/report.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/quirks/sources.h"
#include "sys/udev/bridgedb.h"

#define WORDS_MAX 32
#define EVENTS_MAX 200 /* the newest */

static int print_disk(const struct ctl *c, const struct view *v)
{
        _cleanup_(quirk_facts_done) struct quirk_facts quirks = {};
        _cleanup_(health_done) struct health health = {};
        const struct facts *f = &v->disk.facts;
        struct explain_row rows[_REASON_MAX];
        struct quirk_word words[WORDS_MAX];
        char platform[PLATFORM_MAX];
        struct db_entry entry;
        json_object *o;
        int r;

        r = quirk_facts_read(&c->client.roots, &quirks);
        if (r < 0)
                return r;
        if (c->options->redact)
                redact_quirks(&quirks);
        health_read(&c->client.roots, v, &health);
        platform_read(&c->client.roots, platform);
        (void) bridgedb_read(&c->client.roots, f->port, &entry);
        o = json_disk(v);
        put(o, "rows", json_rows(rows, explain(f, rows, ELEMENTSOF(rows))));
        put(o, "quirks", json_quirks(words, quirk_words(&quirks, f->vid, f->pid, words, ELEMENTSOF(words))));
        put(o, "database", json_database(&entry, f->bcd, platform));
        put(o, "commands", json_commands(&health));
        put(o, "trim", json_trim(&health, f->driver));
        put(o, "link", json_link(&health.link));
        json_print(json_of_disk(o));
        return 0;
}

int verb_report(struct ctl *c, char **args)
{
        _cleanup_(events_done) struct events events = {};
        _cleanup_(kernel_log_done) struct kernel_log kernel = {};
        bool answers;
        int r = ctl_read(c, FROM_KERNEL, c->options->hwdb);

        if (r != UASD_EXIT_OK)
                return r;
        if (c->options->hwdb)
                return report_hwdb(c, c->v);
        answers = ctl_ask_daemon(c);
        (void) events_from_journal(c->root, &(struct events_filter){}, &events);
        (void) events_from_records(&c->client.roots, &(struct events_filter){}, &events);
        (void) kernel_log_read(c, &c->views, &kernel);
        events_sort(&events);
        if (c->options->redact)
                redact_all(&c->views, &events, &kernel);
        report_machine(c, answers);
        for (size_t i = 0; i < c->views.n && r >= 0; i++) {
                putchar('\n');
                r = print_disk(c, &c->views.list[i]);
        }
        putchar('\n');
        if (r >= 0)
                json_print(json_events(&events, events.n > EVENTS_MAX ? events.n - EVENTS_MAX : 0));
        kernel_log_print(&kernel);
        return r < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
