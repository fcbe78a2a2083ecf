/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/request.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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

/* The exit status for an error of the daemon or the bus. */
static int request_code(const sd_bus_error *e)
{
        for (size_t i = 0; i < ELEMENTSOF(errors); i++)
                if (sd_bus_error_has_name(e, errors[i].name))
                        return errors[i].code;
        return UASD_EXIT_FAILED;
}

/* ---- the agent that asks for a password on this terminal ---- */

#define AGENT "/usr/bin/pkttyagent"
#define AGENT_READY_MSEC 5000

static void agent_run(int notify, int parent)
{
        char fd[16];

        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        (void) snprintf(fd, sizeof(fd), "%i", notify);
        (void) execl(AGENT, AGENT, "--notify-fd", fd, "--fallback", (char *) NULL);
        _exit(EXIT_FAILURE);
}

static pid_t agent_start(void)
{
        _cleanup_close_ int reading = -1, writing = -1;
        int ends[2], parent = getpid();
        pid_t pid;

        if (!isatty(STDIN_FILENO) || access(AGENT, X_OK) < 0 || pipe(ends) < 0)
                return 0;
        reading = ends[0];
        writing = ends[1];
        pid = fork();
        if (pid < 0)
                return 0;
        if (pid == 0) {
                (void) close(reading);
                agent_run(writing, parent);
        }
        writing = close_keep_errno(writing);
        /* The agent closes the pipe when it is registered, or when it dies. */
        (void) poll(&(struct pollfd){reading, POLLIN, 0}, 1, AGENT_READY_MSEC);
        return pid;
}

static void agent_stop(pid_t *agent)
{
        if (*agent <= 0)
                return;
        (void) kill(*agent, SIGTERM);
        (void) kill(*agent, SIGCONT);
        while (waitpid(*agent, NULL, 0) < 0 && errno == EINTR)
                ;
        *agent = 0;
}

/* ---- requests ---- */

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
                log_error("uasctl does not understand uasd's answer.");
                return UASD_EXIT_FAILED;
        }
        *ret_job = strdup(job);
        return *ret_job ? UASD_EXIT_OK : UASD_EXIT_FAILED;
}
