/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/host.h"

#include <sys/wait.h>

#include "common/child.h"
#include "common/exit-codes.h"
#include "common/log.h"
#include "common/need.h"
#include "common/util.h"

#define SSH_FAILED 255

/* Adds a word for the shell of the other machine. */
static void host_quote(FILE *out, const char *word)
{
        (void) fputc('\'', out);
        for (; *word; word++)
                if (*word == '\'')
                        (void) fputs("'\\''", out);
                else
                        (void) fputc(*word, out);
        (void) fputc('\'', out);
}

static void host_add_option(FILE *out, const struct ctl_option *row, const struct options *o)
{
        const char *value = NULL;

        if (row->at)
                memcpy(&value, (const char *) o + row->at, sizeof(value));
        (void) fprintf(out, " --%s", row->name);
        if (!value)
                return;
        (void) fputc('=', out);
        host_quote(out, value);
}

char *host_command(const struct options *o, char **words, const char *variables)
{
        const char *no_color = getenv("NO_COLOR");
        char *command = NULL;
        size_t size;
        FILE *out = need(open_memstream(&command, &size));

        (void) fprintf(out, "%s%suasctl", variables, isempty(no_color) ? "" : "NO_COLOR=1 ");
        for (size_t i = 0; i < n_option_rows; i++)
                if (o->given & option_rows[i].bit & ~OPTION_HOST)
                        host_add_option(out, &option_rows[i], o);
        (void) fputs(" --", out);
        for (; *words; words++) {
                (void) fputc(' ', out);
                host_quote(out, *words);
        }
        if (fclose(out) != 0)
                no_memory();
        return command;
}

int host_status(const char *host, char **words, int status)
{
        if (status == -ENOENT)
                return log_failure(UASD_EXIT_TOOL_MISSING,
                                   "%s: ssh is not installed (openssh-client)", host);
        if (status < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot run ssh: %s", strerror(-status));
        if (WIFSIGNALED(status))
                return UASD_EXIT_BY_SIGNAL + WTERMSIG(status);
        if (WEXITSTATUS(status) == SSH_FAILED)
                return log_failure(UASD_EXIT_FAILED, "%s: ssh cannot connect to it", host);
        if (WEXITSTATUS(status) == UASD_EXIT_NOT_FOUND && !streq(words[0] ?: "", VERB_INHIBIT))
                return log_failure(UASD_EXIT_TOOL_MISSING, "%s: uasctl is not installed there",
                                   host);
        return WEXITSTATUS(status);
}

int host_run(const struct options *o, char **words)
{
        _cleanup_free_ char *command = host_command(o, words, "");
        bool tty = !o->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        /* With a terminal there, uasctl can ask for a password, uses colours and ends at ^C. */
        const char *argv[] = {"ssh", tty ? "-t" : "-T", "--", o->host, command, NULL};
        pid_t pid = child_spawn(&(struct program){
                .argv = argv, .exec = execvpe, .fds = {-1, -1, -1}, .foreground = true});
        int status = 0;

        if (pid >= 0 && TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
                pid = -errno;
        return host_status(o->host, words, pid < 0 ? pid : status);
}
