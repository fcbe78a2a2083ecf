/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/util.h"
#include "ctl/health.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static int show(struct ctl *c, const char *what)
{
        _cleanup_(health_done) struct health h = {};
        int r = ctl_read(c, FROM_EITHER, what);

        if (r != UASD_EXIT_OK)
                return r;
        health_read(&c->client.roots, c->v, &h);
        if (ctl_json(c))
                append(c->json, put_members(json_disk(c->v), {"trim", json_trim(&h, c->v->disk.facts.driver)}));
        else if (!health_print_trim(&h, c->v))
                log_info("%s: the kernel does not show whether it uses TRIM.", c->v->disk.facts.interface);
        return UASD_EXIT_OK;
}

static int set(struct ctl *c, const char *what, const char *word)
{
        int r = ctl_read(c, FROM_DAEMON, what);

        if (r == UASD_EXIT_OK)
                r = ctl_call(c, "SetTrim", word);
        if (r != UASD_EXIT_OK)
                return r;
        log_info("%s: TRIM is %s from now on.", VIEW_LABEL(c->v), word);
        if (streq(word, "on"))
                log_info("Some bridges lose data on TRIM: make a backup before the first fstrim.");
        return UASD_EXIT_OK;
}

int verb_trim(struct ctl *c, char **args)
{
        if ((!args[1] || streq(args[1], "off")) && c->options->given & OPTION_FORCE)
                return log_failure(UASD_EXIT_USAGE, "--force works only with: uasctl trim DISK on");
        return args[1] ? set(c, args[0], args[1]) : show(c, args[0]);
}
