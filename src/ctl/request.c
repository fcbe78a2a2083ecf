/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/request.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "ctl/absent.h"
#include "ctl/agent.h"
#include "ctl/source.h"

static const struct {
        const char *name;
        enum uasd_exit code;
} errors[] = {
        {UASD_BUS_ERROR_NO_SUCH_DISK, UASD_EXIT_NO_DISK},
        {UASD_BUS_ERROR_INCAPABLE, UASD_EXIT_INCAPABLE},
        {UASD_BUS_ERROR_REFUSED, UASD_EXIT_REFUSED},
        {UASD_BUS_ERROR_FORCE_NEEDED, UASD_EXIT_REFUSED},
        {UASD_BUS_ERROR_IN_USE, UASD_EXIT_REFUSED},
        {UASD_BUS_ERROR_STOPPING, UASD_EXIT_FAILED},
        {SD_BUS_ERROR_ACCESS_DENIED, UASD_EXIT_UNAUTHORIZED},
        {SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, UASD_EXIT_UNAUTHORIZED},
};

int request_code(const sd_bus_error *e)
{
        for (size_t i = 0; i < ELEMENTSOF(errors); i++)
                if (sd_bus_error_has_name(e, errors[i].name))
                        return errors[i].code;
        return UASD_EXIT_FAILED;
}

int request_reply(const struct ctl *c, struct remote *r, const struct remote_call *call, sd_bus_message **ret_reply)
{
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(agent_stop) pid_t agent = 0;
        struct remote_call actual = *call;
        int k;

        actual.interactive = c->options->ask_password && !c->options->host && !r->peer && geteuid() != 0;
        if (actual.interactive)
                agent = agent_start();
        k = remote_call(r, &actual, ret_reply, &error);
        if (k < 0) {
                int code = request_code(&error);

                if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_METHOD))
                        (void) source_lacks(r, actual.method);
                else if (code == UASD_EXIT_UNAUTHORIZED)
                        log_error("Not permitted: %s", error.message ?: strerror(-k));
                else
                        log_error("%s", error.message ?: strerror(-k));
                if (sd_bus_error_has_name(&error, UASD_BUS_ERROR_FORCE_NEEDED))
                        log_info(FORCE_HELPS);
                return code;
        }
        return UASD_EXIT_OK;
}

int request_call(const struct ctl *c, struct remote *r, const struct remote_call *call, char **ret_job)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *job;
        int code;

        code = request_reply(c, r, call, &reply);
        if (code != UASD_EXIT_OK || !ret_job)
                return code;
        if (sd_bus_message_read(reply, "o", &job) < 0) {
                log_error("uasd's answer is not understood.");
                return UASD_EXIT_FAILED;
        }
        *ret_job = strdup(job);
        return *ret_job ? UASD_EXIT_OK : UASD_EXIT_FAILED;
}

int request_disk(const struct ctl *c, const char *what, const char *method, const char *value, struct views *ret,
                 const struct view **ret_disk)
{
        _cleanup_(remote_close) struct remote remote = {};
        struct remote_call call = {.method = method, .value = value, .force = c->options->given & OPTION_FORCE};
        int code = source_connect_disk(c, what, &remote, ret, ret_disk);

        if (code != UASD_EXIT_OK)
                return code;
        call.disk = (*ret_disk)->disk.facts.interface;
        return request_call(c, &remote, &call, NULL);
}

static int simple(const struct ctl *c, char **args, const char *method, const char *done)
{
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX];
        const struct view *v;
        int code = request_disk(c, args[0], method, NULL, &views, &v);

        if (code == UASD_EXIT_OK)
                log_info("%s: %s", view_label(v, label), done);
        return code;
}

void say_initramfs_is_old(const struct ctl *c)
{
        /* Only made with initramfs-tools does it know of policies and records at all. */
        if (faccessat(c->roots.etc, "initramfs-tools/initramfs.conf", F_OK, 0) == 0)
                log_info("The initramfs goes by what was before until it is made anew: update-initramfs -u");
}

int verb_release(const struct ctl *c, char **args)
{
        return simple(c, args, "Release", "released; nothing waits for it any more");
}

int verb_cancel(const struct ctl *c, char **args)
{
        return simple(c, args, "Cancel", "nothing waits for it any more");
}

int verb_forget(const struct ctl *c, char **args)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(views_done) struct views views = {};
        char label[VIEW_LABEL_MAX], id[HISTORY_KEY_MAX];
        const struct view *v = NULL;
        bool absent;
        int code = source_connect(c, &remote, &views);

        absent = code == UASD_EXIT_OK && absent_named(c, &views, args[0], id);
        if (code == UASD_EXIT_OK && !absent)
                code = source_select(c, &views, args[0], &v);
        if (code == UASD_EXIT_OK)
                code = request_call(c, &remote,
                                    &(struct remote_call){.method = absent ? "ForgetOf" : "Forget", .disk = absent ? id : v->disk.facts.interface},
                                    NULL);
        if (code != UASD_EXIT_OK)
                return code;
        log_info("%s: its history is forgotten", absent ? id : view_label(v, label));
        say_initramfs_is_old(c);
        return UASD_EXIT_OK;
}
