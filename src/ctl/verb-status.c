/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/source.h"
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

/* one: it was named, so it may be asked how it is. disks: NULL for text. 0 or -ENOMEM. */
static int tell(const struct ctl *c, const struct view *v, bool one, bool first, json_object *disks)
{
        _cleanup_(health_done) struct health h = {};
        _cleanup_(mentions_done) struct mentions m = {};
        int k = health_read(&c->client.roots, v, &h);

        if (k == 0)
                k = mentions_read(&c->client.roots, v->disk.facts.interface, &m);
        if (k < 0)
                return k;
        if (one)
                health_ask(&c->client.roots, c->root, v, &h);
        if (disks)
                append(disks, json_one(v, &h, &m));
        else
                print_one(c, v, &h, &m, first);
        return 0;
}

int verb_status(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *one = NULL;
        json_object *disks;
        struct views shown;
        int code, k = 0;

        code = source_read(&c->client, DETAIL_ALL, &views);
        if (code == UASD_EXIT_OK && args[0])
                code = source_select(&c->client, &views, args[0], &one);
        if (code != UASD_EXIT_OK)
                return code;
        shown = one ? (struct views){(struct view *) one, 1} : views;
        disks = c->options->json ? json_list() : NULL;
        if (!disks && shown.n == 0)
                log_info("There are no USB disks.");
        for (size_t i = 0; k == 0 && i < shown.n; i++)
                k = tell(c, &shown.list[i], one, i == 0, disks);
        if (k == 0 && disks)
                json_print(json_document("disks", disks));
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
