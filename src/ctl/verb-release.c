/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"
#include "common/log.h"
#include "ctl/verbs.h"

static int simple(const struct ctl *c, char **args, const char *method, const char *done)
{
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX];
        const struct view *v;
        int code = request_disk(&c->client, args[0], method, NULL, false, &views, &v);

        if (code == UASD_EXIT_OK)
                log_info("%s: %s", view_label(v, label), done);
        return code;
}

int verb_release(const struct ctl *c, char **args)
{
        return simple(c, args, "Release", "released; nothing waits for it any more");
}

int verb_cancel(const struct ctl *c, char **args)
{
        return simple(c, args, "Cancel", "nothing waits for it any more");
}
