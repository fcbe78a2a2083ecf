/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include "common/names.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

/* A wait that ends earlier is no news: a free disk waits until it has been free for a while. */
#define WAIT_SHORT_USEC (10 * USEC_PER_SEC)

/* True: the next entry of this disk came soon after its wait began. */
static bool is_short_wait(const struct events *e, size_t i)
{
        const struct log_entry *wait = &e->list[i];

        if (wait->record || !wait->values[EVENT_USB_ID] || !wait->values[EVENT_INTERFACE] ||
            !streq(wait->values[EVENT_WORD], "waiting"))
                return false;
        for (i++; i < e->n && e->list[i].usec < wait->usec + WAIT_SHORT_USEC; i++) {
                const struct log_entry *next = &e->list[i];

                if (!next->record && !streq(next->values[EVENT_WORD], "asked") &&
                    next->values[EVENT_USB_ID] && next->values[EVENT_INTERFACE] &&
                    streq(next->values[EVENT_USB_ID], wait->values[EVENT_USB_ID]) &&
                    streq(next->values[EVENT_INTERFACE], wait->values[EVENT_INTERFACE]))
                        return true;
        }
        return false;
}

/* A user or the policy has wanted the driver; "": uasd has. */
static const char *event_wanted_by(const struct log_entry *e)
{
        const char *word = e->values[EVENT_WORD], *reason = e->values[EVENT_REASON] ?: "";

        if (e->record || (!streq(word, "switched") && !streq(word, "waiting") &&
                          !streq(word, "rolled-back") && !streq(word, "failed")))
                return "";
        if (streq(reason, "override"))
                return _(" (wanted by uasctl switch)");
        if (streq(reason, "policy"))
                return _(" (wanted by the policy)");
        return "";
}

#define CLOCK_WIDTH 19
#define WORD_WIDTH 12

/* "2026-11-20 15:45:07  switched      2-1:1.0 sda: ..." */
static void print_event(const struct log_entry *e)
{
        char clock[CLOCK_MAX], port[HISTORY_KEY_MAX] = "", user[80], text[2048];
        const char *word = e->values[EVENT_WORD];

        if (e->record) {
                word = _("on record");
                (void) snprintf(port, sizeof(port), _("%s at %s: "), e->values[EVENT_USB_ID],
                                e->values[EVENT_PORT]);
        }
        (void) snprintf(text, sizeof(text), "%s%s%s%s", port, e->values[EVENT_TEXT] ?: "",
                        event_wanted_by(e), events_user(e, user, sizeof(user)));
        printf("%-*s  %s%*s  ", CLOCK_WIDTH, output_clock(e->usec, clock), word,
               fold_blanks(word, WORD_WIDTH), "");
        output_line(CLOCK_WIDTH + 2 + (int) fold_width(word) + fold_blanks(word, WORD_WIDTH) + 2,
                    text);
}

/* On a system without journald */
static void say_where_messages_are(const struct roots *roots)
{
        if (faccessat(roots->run, RUN_LOG, F_OK, 0) >= 0)
                log_info("The messages of uasd from times without syslog are in /run/uasd/log.");
        if (faccessat(roots->dev, DEV_SYSLOG, F_OK, 0) >= 0)
                log_info(
                        "The messages of uasd are in syslog, unless its service has a log of its own.");
}

static void say_what_is_missing(const struct roots *roots, const struct events *e)
{
        bool root = geteuid() == 0;

        if (!e->journal && (root || faccessat(roots->run, RUN_JOURNALD, F_OK, 0) < 0))
                log_info("There is no journal: this is only the history.");
        else if (!e->journal)
                log_info(
                        "There is no journal that this user may read (root and the group systemd-journal may): this is only the history.");
        else if (!root && (e->n == 0 || e->list[0].record))
                log_info("Root and the group systemd-journal see more of the journal.");
        if (faccessat(roots->run, RUN_JOURNALD, F_OK, 0) < 0)
                say_where_messages_are(roots);
        if (e->n == 0)
                log_info("There are no events.");
}

/* The disks that were named, to the filter. */
static int log_choose_disks(struct ctl *c, char **names, struct events_filter *filter)
{
        int r;

        if (!*names)
                return UASD_EXIT_OK;
        r = ctl_read(c, FROM_KERNEL, NULL);
        if (r != UASD_EXIT_OK)
                return r;
        for (; *names; names++) {
                c->v = NULL;
                r = ctl_select_recorded(c, *names);
                if (r != UASD_EXIT_OK)
                        return r;
                events_filter_add(filter, c->v ? &c->v->disk.facts : NULL, c->id);
        }
        return UASD_EXIT_OK;
}

static void log_read_events(const struct ctl *c, const struct events_filter *filter,
                            struct events *ret)
{
        int r = events_from_journal(c->root, filter, ret);

        if (r < 0)
                log_warning("Cannot read the journal: %s", strerror(-r));
        r = events_from_records(&c->client.roots, filter, ret);
        if (r < 0)
                log_warning("Cannot read the history: %s", strerror(-r));
        say_what_is_missing(&c->client.roots, ret);
        events_sort(ret);
}

static int log_follow(struct events *e, const struct events_filter *filter)
{
        int r;

        if (fflush(stdout) != 0) /* reported at the end */
                return UASD_EXIT_FAILED;
        if (!e->journal)
                return log_failure(UASD_EXIT_FAILED, "There is no journal to follow.");
        r = events_follow(e, filter, print_event);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot follow the journal: %s", strerror(-r));
        return UASD_EXIT_OK;
}

int verb_log(struct ctl *c, char **args)
{
        _cleanup_(events_filter_done) struct events_filter filter = {
                .since_usec = c->options->since_usec};
        _cleanup_(events_done) struct events events = {};
        size_t first = 0;
        int r = log_choose_disks(c, args, &filter);

        if (r != UASD_EXIT_OK)
                return r;
        log_read_events(c, &filter, &events);
        if (!c->options->json && !(c->options->given & OPTION_ALL))
                events_drop(&events, is_short_wait);
        if (events.n > c->options->n_lines)
                first = events.n - c->options->n_lines;
        if (c->options->json)
                json_print(json_events(&events, first));
        for (size_t i = first; !c->options->json && i < events.n; i++)
                print_event(&events.list[i]);
        if (c->options->given & OPTION_FOLLOW)
                return log_follow(&events, &filter);
        return UASD_EXIT_OK;
}

/* ---- in a report ---- */

/* Characters of a list. A report of five disks then fits an issue of 65,536 characters. */
#define LIST_MAX 15000

/* "2026-11-20 15:45:07  switched, 152d:0578:SERIAL at 2-1:1.0, usb-storage to uas, fastest, step
 * bind: ..." */
static const char *event_line(const struct log_entry *e, char *ret, size_t size)
{
        char clock[CLOCK_MAX], text[2048] = "";

        for (enum event_value i = 0; i < _EVENT_VALUE_MAX; i++)
                if (event_fields[i].before && !isempty(e->values[i])) {
                        if (*text)
                                text_add(text, sizeof(text), "%s", event_fields[i].before);
                        text_add(text, sizeof(text), "%s", e->values[i]);
                }
        (void) snprintf(ret, size, "%s  %s", output_clock(e->usec, clock), SENTENCE(text));
        return ret;
}

void events_print(const char *title, const struct events *e)
{
        size_t first = e->n, used = 0;
        char line[4096];

        while (first > 0 && (used += strlen(event_line(&e->list[first - 1], line, sizeof(line))) +
                                     1) <= LIST_MAX)
                first--;
        if (e->n > 0)
                printf("\n%s:\n", title);
        if (first > 0)
                printf("(%zu older ones are left out)\n", first);
        for (; first < e->n; first++)
                puts(event_line(&e->list[first], line, sizeof(line)));
}
