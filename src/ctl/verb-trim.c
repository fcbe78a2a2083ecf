/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"
#include "client/source.h"
#include "common/log.h"
#include "common/util.h"
#include "ctl/health.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static int show(const struct ctl *c, const char *what)
{
        _cleanup_(views_done) struct views views = {};
        _cleanup_(health_done) struct health h = {};
        const struct view *v;
        int code = source_read(&c->client, DETAIL_ALL, &views);

        if (code == UASD_EXIT_OK)
                code = source_select(&c->client, &views, what, &v);
        if (code != UASD_EXIT_OK)
                return code;
        if (health_read(&c->client.roots, v, &h) < 0)
                return UASD_EXIT_FAILED;
        if (c->options->json)
                json_print(json_disk_with(v, "trim", json_trim(&h, v->disk.facts.driver)));
        else
                health_print_trim(&h, v);
        return UASD_EXIT_OK;
}

static int set(const struct ctl *c, const char *what, const char *word)
{
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX];
        const struct view *v;
        int code = request_disk(&c->client, what, "SetTrim", word, c->options->given & OPTION_FORCE, &views, &v);

        if (code != UASD_EXIT_OK)
                return code;
        log_info("%s: TRIM is %s from now on.", view_label(v, label), word);
        if (streq(word, "on"))
                log_info("A bridge that gets it wrong loses data: have a backup before the first fstrim.");
        return UASD_EXIT_OK;
}

int verb_trim(const struct ctl *c, char **args)
{
        if (!args[1] || streq(args[1], "off")) {
                if (c->options->given & OPTION_FORCE) {
                        log_error("--force is for: uasctl trim DISK on");
                        return UASD_EXIT_USAGE;
                }
        } else if (!streq(args[1], "on")) {
                log_error("'%s' is no setting for TRIM: on or off.", args[1]);
                return UASD_EXIT_USAGE;
        }
        return args[1] ? set(c, args[0], args[1]) : show(c, args[0]);
}
