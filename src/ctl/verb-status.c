/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "ctl/boot-place.h"
#include "ctl/health.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "term/pager.h"

static json_object *json_one(const struct view *v, const struct health *h, const struct mentions *m)
{
        json_object *o = json_disk(v);

        put(o, "commands", json_commands(h));
        put(o, "trim", json_trim(h, v->disk.facts.driver));
        put(o, "smart", json_smart(h));
        put(o, "names", json_names(m));
        put(o, "link", json_link(&h->link));
        return o;
}

static void print_one(const struct ctl *c, const struct view *v, const struct health *h, const struct mentions *m, bool first)
{
        pager_open(c->options->pager);
        if (!first)
                putchar('\n');
        output_status(v);
        boot_place_print(c, v);
        health_print(h, v);
        mentions_print(m);
}

/* disks: NULL for text. */
static void tell(const struct ctl *c, const struct view *v, bool first, json_object *disks)
{
        _cleanup_(health_done) struct health h = {};
        _cleanup_(mentions_done) struct mentions m = {};

        health_read(&c->client.roots, v, &h);
        mentions_read(&c->client.roots, v->disk.facts.interface, &m);
        if (c->named) /* the user named it, so smartctl may ask it */
                health_ask(&c->client.roots, c->root, v, &h);
        if (disks)
                append(disks, json_one(v, &h, &m));
        else
                print_one(c, v, &h, &m, first);
}

int verb_status(struct ctl *c, char **args)
{
        json_object *disks = c->options->json ? json_list() : NULL;

        if (!disks && c->views.n == 0)
                log_info("There are no USB disks.");
        for (size_t i = 0; i < c->views.n; i++)
                tell(c, &c->views.list[i], i == 0, disks);
        if (disks)
                json_print(json_document("disks", disks));
        return UASD_EXIT_OK;
}
