/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/freeing.h"
#include "ctl/mentions.h"
#include "ctl/options.h"

#include "core/disk-words.h"
#include "ctl/boot.h"
#include "ctl/brief.h"
#include "ctl/events.h"
#include "ctl/health.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/io/clock.h"
#include "term/layout.h"

static void print_luns(const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const struct lun *l = &v->disk.luns[i];
                const char *name = l->disk.name;
                char size[16];

                if (!*name)
                        name = _("(no block device)");
                output_format(i == 0 ? N_("Disks") : "", "", "%s %s, LUN %u", name,
                              size_text(l->size, size, sizeof(size)), l->lun);
        }
}

/* The users, and if they are in the way of a switch, the commands that end their uses. */
static void status_print_users(const struct ctl *c, const struct view *v)
{
        const char *driver = view_driver(v), *target = view_target(v);
        _cleanup_(freeing_done) struct freeing_list list = {};
        char text[1200];

        for (size_t i = 0; i < v->disk.n_users; i++)
                output_sentence(i == 0 ? "Used" : "",
                                user_text(&v->disk.users[i], text, sizeof(text)));
        if (target && (!driver || !streq(driver, target)))
                freeing_read(&c->client.roots, &v->disk, &list);
        for (size_t i = 0; i < list.n; i++)
                output_command(i == 0 ? "To free" : "", list.commands[i]);
        for (size_t i = 0; i < list.n_left_out; i++)
                output_sentence(i == 0 && list.n == 0 ? "To free" : "", list.left_out[i]);
}

/* "sda: Maker Disk, 931.5G, on uas - trial, 7 min left" */
static void status_print_head(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const char *driver = view_driver(v);
        char state[BRIEF_MAX], names[512], product[2 * USB_STRING_MAX], size[16], text[2048];
        uint64_t bytes = disk_size(&v->disk);

        if (!*view_product(v, product, sizeof(product)))
                (void) snprintf(product, sizeof(product), "%04x:%04x", f->vid, f->pid);
        if (streq(view_block_names(v, names, sizeof(names)), "-"))
                (void) copy_string(names, sizeof(names), f->port);
        (void) snprintf(text, sizeof(text), "%s: %s", names, product);
        if (bytes > 0)
                text_add(text, sizeof(text), ", %s", size_text(bytes, size, sizeof(size)));
        if (driver)
                text_add(text, sizeof(text), _(", on %s"), driver);
        text_add(text, sizeof(text), " - %s", brief_state(v, state));
        output_head(v, HARMLESS(text));
}

/* The age of a wait, and the end of a trial or hold. */
static void print_moments(const struct view *v)
{
        usec_t now = now_boottime();
        char clock[CLOCK_MAX], time[32];

        if (v->since && v->since <= now)
                output_format("Waiting", "", _("since %s (%s)"),
                              output_clock(boottime_to_realtime(v->since), clock),
                              brief_time(now - v->since, time, sizeof(time)));
        if (v->ends > now)
                output_format(v->disk.state == STATE_HELD ? N_("Held") : N_("Trial"), "",
                              _("until %s (%s left)"),
                              output_clock(boottime_to_realtime(v->ends), clock),
                              brief_time(v->ends - now, time, sizeof(time)));
}

static void print_driver(const struct view *v)
{
        const char *driver = view_driver(v) ?: _("none"), *host = v->disk.host;
        bool slower = view_is_slower(v);

        if (slower && *host)
                output_format("Driver", SGR_YELLOW, _("%s on %s, slower than uas"), driver, host);
        else if (slower)
                output_format("Driver", SGR_YELLOW, _("%s, slower than uas"), driver);
        else if (*host)
                output_format("Driver", "", _("%s on %s"), driver, host);
        else
                output_format("Driver", "", "%s", driver);
}

static void print_link(const struct view *v, const struct health *h)
{
        const struct facts *f = &v->disk.facts;
        char text[1200], speed[32], most[32];

        (void) brief_speed(f->speed_mbps, speed, sizeof(speed));
        if (facts_slow_link(f))
                output_format("Link", SGR_YELLOW, _("%s at port %s; the device could do %s"), speed,
                              f->port, brief_speed(f->max_speed_mbps, most, sizeof(most)));
        else
                output_format("Link", "", _("%s at port %s"), speed, f->port);
        output_sentence("Advice", link_advice(&h->link, text, sizeof(text)));
}

static void print_trouble(const struct view *v)
{
        const struct outcome *o = &v->disk.outcome;

        output_sentence("Diagnosis", v->diagnosis);
        if (disk_went_wrong(&v->disk) && o->step[0])
                output_format("Last", "", _("%s (step %s)"), o->text, o->step);
        else if (disk_went_wrong(&v->disk))
                output_format("Last", "", "%s", o->text);
}

#define EVENTS_SHOWN 5

/* "2026-11-20 15:45:07 switched: ..." */
static void status_print_event(const struct log_entry *e, bool first)
{
        const char *text = e->values[EVENT_TEXT] ?: "", *disk;
        char clock[CLOCK_MAX], prefix[512], user[80], line[2048];

        /* The headline names the disk. */
        (void) snprintf(prefix, sizeof(prefix), "%s %s: ", e->values[EVENT_INTERFACE] ?: "",
                        e->values[EVENT_DISKS] ?: "");
        disk = startswith(text, prefix);
        (void) snprintf(line, sizeof(line), "%s %s: %s%s", output_clock(e->usec, clock),
                        e->values[EVENT_WORD], disk ?: text, events_user(e, user, sizeof(user)));
        output_sentence(first ? "Events" : "", line);
}

/* The newest ones that this user may read. */
static void status_print_events(const struct ctl *c, const struct view *v)
{
        _cleanup_(events_filter_done) struct events_filter filter = {.newest = EVENTS_SHOWN};
        _cleanup_(events_done) struct events events = {};

        events_filter_add(&filter, &v->disk.facts, NULL);
        if (events_from_journal(c->root, &filter, &events) < 0)
                return;
        events_sort(&events);
        for (size_t i = 0; i < events.n; i++)
                status_print_event(&events.list[i], i == 0);
}

static const char *offer_text(const struct view *v)
{
        if (v->disk.facts.driver == DRIVER_UAS)
                return "UAS";
        if (view_capable(v))
                return _("offers UAS");
        return _("does not offer UAS");
}

/* The fields that --all adds. */
static void print_rest(const struct view *v, const struct health *h)
{
        const char *driver = view_driver(v), *target = view_target(v);
        const struct facts *f = &v->disk.facts;
        char text[512];

        output_format("State", "", "%s", state_to_string(v->disk.state));
        if (target && (!driver || !streq(driver, target)))
                output_field("Target", target);
        output_format("Protocol", "", "%s%s%s", h->protocol, *h->protocol ? "; " : "",
                      offer_text(v));
        print_luns(v);
        output_format("Bridge", "", _("%04x:%04x, firmware %x.%02x"), f->vid, f->pid, f->bcd >> 8,
                      f->bcd & 0xff);
        output_format("Verdict", f->verdict == VERDICT_BAD ? SGR_RED : "", "%s",
                      verdict_to_string(f->verdict));
        output_field("Serial", f->serial);
        output_sentence("Policy", policy_text(f->policy, f->policy_source, text, sizeof(text)));
        output_sentence("History", v->history);
        health_print_commands(h);
        (void) health_print_trim(h, v, true);
}

static void print_one(const struct ctl *c, const struct view *v, const struct health *h,
                      json_object *names)
{
        bool all = c->options->given & OPTION_ALL;

        pager_open(c->options->pager);
        if (v != c->views.list)
                putchar('\n');
        status_print_head(v);
        print_link(v, h);
        if (all || view_is_slower(v))
                print_driver(v);
        output_sentence("Reason", v->reason);
        print_moments(v);
        status_print_users(c, v);
        boot_next_print(c, v);
        print_trouble(v);
        if (all)
                print_rest(v, h);
        health_print(h);
        mentions_print(names);
        if (c->named) /* each disk costs a look through the journal */
                status_print_events(c, v);
}

static json_object *status_json_freeing(const struct ctl *c, const struct view *v)
{
        _cleanup_(freeing_done) struct freeing_list list = {};
        json_object *commands = json_list();

        freeing_read(&c->client.roots, &v->disk, &list);
        for (size_t i = 0; i < list.n; i++)
                append(commands, new_string(list.commands[i]));
        return commands;
}

static void status_print(struct ctl *c, const struct view *v)
{
        _cleanup_(health_done) struct health h = {};
        _cleanup_(json_putp) json_object *names =
                mentions_read(&c->client.roots, v->disk.facts.interface);

        health_read(&c->client.roots, v, &h);
        if (c->named) /* the user named it, so smartctl may ask it */
                health_ask(&c->client.roots, c->root, v, &h);
        if (c->json)
                append(c->json, put_members(json_disk(v), {"commands", json_commands(&h)},
                                            {"trim", json_trim(&h, v->disk.facts.driver)},
                                            {"smart", json_smart(&h)}, {"names", TAKE_PTR(names)},
                                            {"to_free", status_json_freeing(c, v)},
                                            {"link", json_link(&h.link)}));
        else
                print_one(c, v, &h, names);
}

int verb_status(struct ctl *c, char **args)
{
        if (!ctl_json(c) && c->views.n == 0)
                log_info("There are no USB disks.");
        for (size_t i = 0; i < c->views.n; i++)
                status_print(c, &c->views.list[i]);
        if (!c->options->json && c->views.n > 0 && c->options->legend &&
            !(c->options->given & OPTION_ALL))
                fold_print(stdout, _("--all prints everything."), 0);
        return UASD_EXIT_OK;
}
