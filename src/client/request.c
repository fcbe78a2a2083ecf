/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"

#include <fcntl.h>
#include <unistd.h>

#include "client/agent.h"
#include "client/source.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"

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

int request_reply(const struct client *c, struct remote *r, const struct remote_call *call, sd_bus_message **ret_reply)
{
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(agent_stop) pid_t agent = 0;
        struct remote_call actual = *call;
        int k;

        actual.interactive = c->ask_password && !c->host && !r->peer && geteuid() != 0;
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

int request_call(const struct client *c, struct remote *r, const struct remote_call *call, char **ret_job)
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

int request_disk(const struct client *c, const char *what, const char *method, const char *value, bool force, struct views *ret,
                 const struct view **ret_disk)
{
        _cleanup_(remote_close) struct remote remote = {};
        struct remote_call call = {.method = method, .value = value, .force = force};
        int code = source_connect_disk(c, what, &remote, ret, ret_disk);

        if (code != UASD_EXIT_OK)
                return code;
        call.disk = (*ret_disk)->disk.facts.interface;
        return request_call(c, &remote, &call, NULL);
}
