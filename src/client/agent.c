/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/util.h"

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

pid_t agent_start(void)
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
        /* It closes the pipe when it is registered, or dies. */
        (void) poll(&(struct pollfd){reading, POLLIN, 0}, 1, AGENT_READY_MSEC);
        return pid;
}

void agent_stop(pid_t *agent)
{
        if (*agent <= 0)
                return;
        (void) kill(*agent, SIGTERM);
        (void) kill(*agent, SIGCONT);
        while (waitpid(*agent, NULL, 0) < 0 && errno == EINTR)
                ;
        *agent = 0;
}
