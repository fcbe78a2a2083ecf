/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/freeing.h"
#include "ctl/mentions.h"
#include "ctl/options.h"

#include "core/disk-words.h"
#include "ctl/boot.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

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

static void status_print_state(const struct ctl *c, const struct view *v)
{
        char product[2 * USB_STRING_MAX];

        output_head(v, VIEW_LABEL(v));
        output_field("Product", view_product(v, product, sizeof(product)));
        output_format("State", output_colour(v), "%s", state_to_string(v->disk.state));
        output_sentence("Reason", v->reason);
        status_print_users(c, v);
        boot_next_print(c, v);
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

static const char *offer_text(const struct view *v)
{
        if (v->disk.facts.driver == DRIVER_UAS)
                return "UAS";
        if (view_capable(v))
                return _("offers UAS");
        return _("does not offer UAS");
}

static void print_link(const struct view *v, const struct health *h)
{
        const struct facts *f = &v->disk.facts;
        const char *driver = view_driver(v), *target = view_target(v);
        char text[1200];

        print_driver(v);
        if (target && (!driver || !streq(driver, target)))
                output_field("Target", target);
        output_format("Protocol", "", "%s%s%s", h->protocol, *h->protocol ? "; " : "",
                      offer_text(v));
        if (facts_slow_link(f))
                output_format("Speed", SGR_YELLOW, _("%u Mbit/s, USB %s; the device could do %u"),
                              f->speed_mbps, f->usb_version, f->max_speed_mbps);
        else
                output_format("Speed", "", "%u Mbit/s, USB %s", f->speed_mbps, f->usb_version);
        output_sentence("Advice", link_advice(&h->link, text, sizeof(text)));
}

static void print_disk(const struct view *v)
{
        const struct outcome *o = &v->disk.outcome;
        const struct facts *f = &v->disk.facts;
        char text[512];

        print_luns(v);
        output_format("Bridge", "", _("%04x:%04x, firmware %x.%02x"), f->vid, f->pid, f->bcd >> 8,
                      f->bcd & 0xff);
        output_format("Verdict", f->verdict == VERDICT_BAD ? SGR_RED : "", "%s",
                      verdict_to_string(f->verdict));
        output_field("Serial", f->serial);
        output_sentence("Policy", policy_text(f->policy, f->policy_source, text, sizeof(text)));
        output_sentence("History", v->history);
        output_sentence("Diagnosis", v->diagnosis);
        if (disk_went_wrong(&v->disk) && o->step[0])
                output_format("Last", "", _("%s (step %s)"), o->text, o->step);
        else if (disk_went_wrong(&v->disk))
                output_format("Last", "", "%s", o->text);
}

static void print_one(const struct ctl *c, const struct view *v, const struct health *h,
                      json_object *names)
{
        pager_open(c->options->pager);
        if (v != c->views.list)
                putchar('\n');
        status_print_state(c, v);
        print_link(v, h);
        print_disk(v);
        health_print(h, v);
        mentions_print(names);
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
        return UASD_EXIT_OK;
}
