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

/* A failure does not keep the others from being asked for. Returns the first one. */
static int request_each(struct ctl *c, const char *method, const char *done)
{
        int ret = UASD_EXIT_OK;

        for (size_t i = 0; i < c->views.n; i++) {
                int r;

                c->v = &c->views.list[i];
                r = request(c, method, done);
                ret = ret ?: r;
        }
        return ret;
}

int verb_release(struct ctl *c, char **args)
{
        return request_each(c, "Release", "released. No switch waits for it.");
}

int verb_cancel(struct ctl *c, char **args)
{
        return request_each(c, "Cancel", "no switch waits for it.");
}

int verb_forget(struct ctl *c, char **args)
{
        int r = ctl_read(c, FROM_DAEMON, NULL), ret = UASD_EXIT_OK;

        for (size_t i = 0; r == UASD_EXIT_OK && args[i]; i++)
                r = ctl_select_or_id(c, args[i]);
        if (r != UASD_EXIT_OK)
                return r;
        for (; *args; args++) {
                c->v = NULL;
                (void) ctl_select_or_id(c, *args);
                r = request(c, c->v ? "Forget" : "ForgetOf", "its history is cleared.");
                ret = ret ?: r;
        }
        if (ret == UASD_EXIT_OK)
                say_initramfs_is_old(c);
        return ret;
}
