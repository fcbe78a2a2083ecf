/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "client/source.h"
#include "common/log.h"
#include "ctl/absent.h"
#include "ctl/events.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static void print_event(const struct log_entry *e)
{
        time_t seconds = (time_t) (e->usec / USEC_PER_SEC);
        char clock[32] = "-";
        struct tm tm;

        if (e->usec > 0 && localtime_r(&seconds, &tm))
                (void) strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &tm);
        printf("%-19s  %-12s  ", clock, e->record ? "on record" : e->values[EVENT_WORD]);
        if (e->record) {
                output_part(e->values[EVENT_USB_ID]);
                printf(" at ");
                output_part(e->values[EVENT_PORT]);
                printf(": ");
        }
        output_part(e->values[EVENT_TEXT] ?: "");
        putchar('\n');
}

static void say_what_is_missing(const struct events *e)
{
        bool root = geteuid() == 0;

        if (!e->journal)
                log_info("There is no journal to be read%s: this is what is on record.",
                         root ? "" : " (root and the group systemd-journal may)");
        else if (!root && (e->n == 0 || e->list[0].record))
                log_info("Of the journal root and the group systemd-journal see more.");
        if (e->n == 0)
                log_info("Nothing is known to have happened.");
}

int verb_log(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        _cleanup_(events_done) struct events events = {};
        struct events_filter filter = {.since_usec = c->options->since_usec};
        int code = UASD_EXIT_OK, k;
        char id[HISTORY_KEY_MAX];
        const struct view *v;

        if (args[0]) {
                code = source_local(&c->client, true, &views);
                if (code == UASD_EXIT_OK && absent_recorded(c, &views, args[0], id))
                        filter.id = id;
                else if (code == UASD_EXIT_OK) {
                        code = source_select(&c->client, &views, args[0], &v);
                        filter.disk = code == UASD_EXIT_OK ? &v->disk.facts : NULL;
                }
                if (code != UASD_EXIT_OK)
                        return code;
        }
        k = events_from_journal(c->root, &filter, &events);
        if (k < 0)
                log_warning("Cannot read the journal: %s", strerror(-k));
        k = events_from_records(&c->client.roots, &filter, &events);
        if (k < 0)
                log_warning("Cannot read what is on record: %s", strerror(-k));
        say_what_is_missing(&events);
        events_sort(&events);
        if (c->options->json)
                json_print(json_events(&events));
        for (size_t i = 0; !c->options->json && i < events.n; i++)
                print_event(&events.list[i]);
        return UASD_EXIT_OK;
}
