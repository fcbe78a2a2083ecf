/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "common/child.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"

static void add_inhibitor(const char *disk, const char *who, const char *why, void *data)
{
        append(data, json_inhibitor(disk, who, why));
}

static const struct table_column columns[] = {
        {N_("DISK")}, {N_("WHO")}, {N_("WHY"), SCOLS_FL_WRAP}};

/* The daemon has made the texts harmless. uasctl does not rely on that. */
static void print_table(json_object *all, bool legend)
{
        struct libscols_table *t = table_new(columns, ELEMENTSOF(columns), legend);

        for (size_t i = 0; i < json_object_array_length(all); i++) {
                json_object *one = json_object_array_get_idx(all, i);
                const char *why = member(one, "why");

                (void) table_row(t, NULL,
                                 (const char *const[]){member(one, "disk") ?: _("any"),
                                                       SENTENCE(member(one, "who")),
                                                       *why ? SENTENCE(why) : "-"});
        }
        table_print(t, columns, ELEMENTSOF(columns));
}

/* uasctl inhibit: while a command runs, no switch begins. */

/* Waits until the command has ended. Signals from the terminal are for the command, which decides
 * how to handle them. */
static int inhibit_wait(pid_t pid, int signals, int lock)
{
        struct pollfd p[] = {{signals, POLLIN, 0}, {lock, 0, 0}};
        struct signalfd_siginfo si;
        int status = 0;

        for (;;) {
                pid_t gone;

                if (poll(p, ELEMENTSOF(p), -1) < 0 && errno != EINTR)
                        return UASD_EXIT_FAILED;
                if (p[1].revents) {
                        log_warning(
                                "uasd has ended. The next uasd may switch disks while the command runs.");
                        p[1].fd = -1;
                        p[1].revents = 0;
                }
                if (!p[0].revents || read(signals, &si, sizeof(si)) != sizeof(si))
                        continue;
                if (si.ssi_signo != SIGCHLD && si.ssi_signo != SIGINT && si.ssi_signo != SIGQUIT)
                        (void) kill(pid, (int) si.ssi_signo);
                gone = waitpid(pid, &status, WNOHANG);
                if (gone < 0)
                        return UASD_EXIT_FAILED;
                if (gone > 0 && WIFEXITED(status))
                        return WEXITSTATUS(status);
                if (gone > 0)
                        return UASD_EXIT_BY_SIGNAL + WTERMSIG(status);
        }
}

static int inhibit_run(char **command, int lock)
{
        _cleanup_close_ int signals = -1;
        sigset_t mask, before;
        pid_t pid;

        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGCHLD);
        (void) sigaddset(&mask, SIGINT);
        (void) sigaddset(&mask, SIGQUIT);
        (void) sigaddset(&mask, SIGTERM);
        (void) sigaddset(&mask, SIGHUP);
        (void) sigprocmask(SIG_BLOCK, &mask, &before);
        signals = signalfd(-1, &mask, SFD_CLOEXEC);
        /* The command relies on the inhibitor, so it must not outlive us. */
        pid = signals < 0 ? -errno
                          : child_spawn(&(struct program){.argv = (const char *const *) command,
                                                          .exec = execvpe,
                                                          .fds = {-1, -1, -1},
                                                          .death = SIGTERM,
                                                          .blocked = &before,
                                                          .foreground = true});
        if (pid < 0)
                return log_failure(pid == -ENOENT ? UASD_EXIT_NOT_FOUND : UASD_EXIT_NOT_RUN,
                                   "Cannot run %s: %s", command[0], strerror(-pid));
        return inhibit_wait(pid, signals, lock);
}

/* Without uasd, ret_lock stays unchanged. */
static int inhibit_take(struct ctl *c, const char *command, int *ret_lock)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *slash = strrchr(command, '/'), *disk = c->options->disk;
        struct remote_call call = {
                .method = "Inhibit", .value = command, .why = c->options->why ?: ""};
        int fd, r = source_connect_if_running(&c->client, &c->remote, &c->views);
        bool without = r == UASD_EXIT_OK && !c->remote.bus;

        if (slash && slash[1])
                call.value = slash + 1;
        /* Without uasd there is nothing to inhibit. But a disk that is named must exist. */
        if (without && disk)
                r = source_local(&c->client, DETAIL_NO_USERS, NULL, &c->views);
        if (r == UASD_EXIT_OK && disk)
                r = ctl_select(c, disk);
        if (r != UASD_EXIT_OK)
                return r;
        if (without)
                return log_answer(UASD_EXIT_OK,
                                  "uasd is not running: no switch begins unless uasd is started.");
        if (c->v)
                call.disk = c->v->disk.facts.interface;
        r = request_reply(&c->client, &c->remote, &call, &reply);
        if (r != UASD_EXIT_OK)
                return r;
        /* Neither the command nor its children inherit the descriptor. */
        if (sd_bus_message_read(reply, "h", &fd) < 0 ||
            (*ret_lock = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
                return log_failure(UASD_EXIT_FAILED, "uasctl does not understand uasd's answer.");
        /* The command may run for days. No connection stays open for it. */
        remote_close(&c->remote);
        return UASD_EXIT_OK;
}

static int inhibitors_list(struct ctl *c)
{
        _cleanup_(json_putp) json_object *all = json_list();
        int r = ctl_read(c, FROM_DAEMON, NULL);

        if (r != UASD_EXIT_OK)
                return r;
        r = remote_each_inhibitor(&c->remote, add_inhibitor, all);
        if (r == -ENOSYS)
                return source_lacks(&c->remote, "Inhibitors");
        if (r < 0)
                return source_lost(r);
        if (c->options->json)
                json_print(json_document("inhibitors", TAKE_PTR(all)));
        else if (json_object_array_length(all) == 0)
                log_info("No program inhibits switches.");
        else
                print_table(all, c->options->legend);
        return UASD_EXIT_OK;
}

int verb_inhibit(struct ctl *c, char **args)
{
        _cleanup_close_ int lock = -1;
        bool listing = c->options->given & OPTION_LIST;
        int r;

        if (listing && (args[0] || c->options->given & (OPTION_DISK | OPTION_WHY)))
                return log_failure(UASD_EXIT_USAGE,
                                   "--list takes no command, no --disk and no --why.");
        if (!listing && !args[0])
                return log_failure(
                        UASD_EXIT_USAGE,
                        "Too few arguments: uasctl inhibit COMMAND, or uasctl inhibit --list");
        if (listing)
                return inhibitors_list(c);
        if (c->options->given & OPTION_JSON)
                return log_failure(UASD_EXIT_USAGE, "--json works only with --list.");
        r = inhibit_take(c, args[0], &lock);
        if (r != UASD_EXIT_OK)
                return r;
        return inhibit_run(args, lock);
}
