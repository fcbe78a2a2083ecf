/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"
#include "client/source.h"
#include "common/log.h"
#include "ctl/absent.h"
#include "ctl/boot-place.h"
#include "ctl/verbs.h"

int verb_forget(const struct ctl *c, char **args)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX], id[HISTORY_KEY_MAX];
        const struct view *v = NULL;
        bool absent;
        int code = source_connect(&c->client, &remote, &views);

        absent = code == UASD_EXIT_OK && absent_named(c, &views, args[0], id);
        if (code == UASD_EXIT_OK && !absent)
                code = source_select(&c->client, &views, args[0], &v);
        if (code == UASD_EXIT_OK)
                code = request_call(&c->client, &remote,
                                    &(struct remote_call){.method = absent ? "ForgetOf" : "Forget",
                                                          .disk = absent ? id : v->disk.facts.interface},
                                    NULL);
        if (code != UASD_EXIT_OK)
                return code;
        log_info("%s: its history is forgotten", absent ? id : view_label(v, label));
        say_initramfs_is_old(c);
        return UASD_EXIT_OK;
}
