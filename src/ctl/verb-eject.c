/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"
#include "common/log.h"
#include "common/util.h"
#include "ctl/verbs.h"

/* A sync of a slow disk takes minutes. A switch that is under way comes before it. */
#define EJECT_USEC (600 * USEC_PER_SEC)

static int eject(struct ctl *c, const struct view *v)
{
        const struct remote_call call = {.method = "Eject", .disk = v->disk.facts.interface, .limit_usec = EJECT_USEC};
        _cleanup_(views_done) struct views now = {};
        char label[VIEW_LABEL_MAX];
        int r = request_call(&c->client, &c->remote, &call, NULL);

        if (r == UASD_EXIT_OK)
                log_info("%s: ejected. You can unplug it.", view_label(v, label));
        if (r == UASD_EXIT_REFUSED && remote_read(&c->remote, ORDER_USEC, &now) >= 0 && (v = views_find(&now, call.disk)))
                say_in_use(c, v);
        return r;
}

/* A failure does not keep the others from being ejected. Returns the first one. */
int verb_eject(struct ctl *c, char **args)
{
        int ret = UASD_EXIT_OK;

        for (size_t i = 0; i < c->views.n; i++) {
                int r = eject(c, &c->views.list[i]);

                ret = ret ?: r;
        }
        return ret;
}
