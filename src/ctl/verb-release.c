/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "ctl/boot-place.h"
#include "ctl/verbs.h"

/* Requests without options: release, cancel, forget. */

static int request(struct ctl *c, const char *method, const char *done)
{
        char label[VIEW_LABEL_MAX];
        int r = ctl_call(c, method, NULL);

        if (r == UASD_EXIT_OK)
                log_info("%s: %s", c->v ? view_label(c->v, label) : c->id, done);
        return r;
}

int verb_release(struct ctl *c, char **args)
{
        return request(c, "Release", "released; nothing waits for it any more");
}

int verb_cancel(struct ctl *c, char **args)
{
        return request(c, "Cancel", "nothing waits for it any more");
}

int verb_forget(struct ctl *c, char **args)
{
        int r = ctl_read(c, FROM_DAEMON, NULL);

        if (r == UASD_EXIT_OK)
                r = ctl_select_or_id(c, args[0]);
        if (r == UASD_EXIT_OK)
                r = request(c, c->v ? "Forget" : "ForgetOf", "its history is forgotten");
        if (r == UASD_EXIT_OK)
                say_initramfs_is_old(c);
        return r;
}
