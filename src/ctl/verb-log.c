/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "ctl/events.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static void print_event(const struct log_entry *e)
{
        char clock[CLOCK_MAX];

        printf("%-19s  %-12s  ", output_clock(e->usec, clock), e->record ? "on record" : e->values[EVENT_WORD]);
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

int verb_log(struct ctl *c, char **args)
{
        _cleanup_(events_done) struct events events = {};
        struct events_filter filter = {.since_usec = c->options->since_usec};
        int r = args[0] ? ctl_read(c, FROM_KERNEL, NULL) : UASD_EXIT_OK;

        if (r == UASD_EXIT_OK && args[0])
                r = ctl_select_recorded(c, args[0]);
        if (r != UASD_EXIT_OK)
                return r;
        filter.disk = c->v ? &c->v->disk.facts : NULL;
        filter.id = *c->id ? c->id : NULL;
        r = events_from_journal(c->root, &filter, &events);
        if (r < 0)
                log_warning("Cannot read the journal: %s", strerror(-r));
        r = events_from_records(&c->client.roots, &filter, &events);
        if (r < 0)
                log_warning("Cannot read what is on record: %s", strerror(-r));
        say_what_is_missing(&events);
        events_sort(&events);
        if (c->options->json)
                json_print(json_events(&events));
        for (size_t i = 0; !c->options->json && i < events.n; i++)
                print_event(&events.list[i]);
        return UASD_EXIT_OK;
}
