/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "ctl/json.h"
#include "ctl/output.h"
#include "ctl/pager.h"
#include "ctl/source.h"
#include "sys/link.h"

static void print_advice(const struct ctl *c, const struct view *v)
{
        struct link_facts l;
        char advice[512];

        link_read(&c->roots, &v->disk.facts, &l);
        output_sentence("Advice", link_advice(&l, advice, sizeof(advice)));
}

int verb_status(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *one = NULL;
        struct views shown;
        int code;

        code = source_read(c, &views);
        if (code == UASD_EXIT_OK && args[0])
                code = source_select(c, &views, args[0], &one);
        if (code != UASD_EXIT_OK)
                return code;
        shown = one ? (struct views){(struct view *) one, 1} : views;
        if (c->options->json)
                return json_print(json_views(&shown)) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        if (shown.n == 0)
                log_info("There are no USB disks.");
        else
                pager_open(c->options);
        for (size_t i = 0; i < shown.n; i++) {
                if (i > 0)
                        putchar('\n');
                output_status(&shown.list[i]);
                print_advice(c, &shown.list[i]);
        }
        return UASD_EXIT_OK;
}
