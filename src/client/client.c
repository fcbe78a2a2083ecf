/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/client.h"
#include "client/local.h"
#include "client/select.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/gettext.h"
#include "common/names.h"
#include "common/need.h"
#include "common/sentence.h"
#include "common/util.h"
#include "sys/io/boot.h"
#include "sys/io/programs.h"
#include "sys/platform/off.h"

#define SOCKET_MAX (sizeof("/proc/self/fd//" RUN_PRIVATE_SOCKET) + 16)

/* Below the /run of the client, only for root: NULL for others. */
static const char *private_socket(const struct client *c, char ret[static SOCKET_MAX])
{
        if (geteuid() != 0 || c->roots.run < 0)
                return NULL;
        (void) snprintf(ret, SOCKET_MAX, "/proc/self/fd/%i/" RUN_PRIVATE_SOCKET, c->roots.run);
        return ret;
}

static int open_remote(const struct client *c, enum remote_use use, bool users,
                       struct remote *ret_remote, struct courses *ret_courses)
{
        char path[SOCKET_MAX];
        int r = remote_open(private_socket(c, path), use, users,
                            use == REMOTE_ORDER ? ORDER_USEC : GLANCE_USEC, ret_remote,
                            ret_courses);

        /* A uasd that is off does not answer with a bus either. */
        return r == -ENETDOWN && uasd_off(&c->roots) ? -ENOTCONN : r;
}

#define WHY_MAX 256

/* Says which version uasd is, if it reports one. */
static const char *why_not_understood(const struct client *c, char ret[static WHY_MAX])
{
        char theirs[REMOTE_VERSION_MAX], path[SOCKET_MAX];

        if (!remote_ask_version(private_socket(c, path), theirs) || streq(theirs, UASD_VERSION))
                return _("uasctl does not understand uasd's answer (another version?)");
        (void) snprintf(
                ret, WHY_MAX,
                _("uasctl does not understand uasd's answer: uasd is version %s, and uasctl %s"),
                theirs, UASD_VERSION);
        return ret;
}

static const char *why_no_answer(const struct client *c, int error, char ret[static WHY_MAX])
{
        const char *off;

        switch (error) {
        case -ETIMEDOUT:
                return _("uasd runs, but does not answer");
        case -EBADMSG:
                return why_not_understood(c, ret);
        case -ENETDOWN: /* uasd may run: only root has another way to it */
                return _("the system bus (D-Bus) does not answer");
        default:
                /* PID 1 would start it without an error, and it would end at once. */
                off = uasd_off(&c->roots);
                if (!off)
                        return _("uasd is not running");
                (void) snprintf(ret, WHY_MAX, _("uasd is off: %s"), _(off));
                return ret;
        }
}

bool source_ask(const struct client *c, enum remote_use use, bool users, struct remote *ret_remote,
                struct courses *ret_courses)
{
        char why[WHY_MAX];
        int r = open_remote(c, use, users, ret_remote, ret_courses);

        if (r < 0)
                log_info("%s: uasctl reads the disks from the kernel.", why_no_answer(c, r, why));
        return r >= 0;
}

int source_local(const struct client *c, enum detail detail, struct courses *courses,
                 struct views *ret)
{
        int r = local_read(&c->roots, detail, courses, ret);

        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the USB disks from sysfs: %s",
                                   strerror(-r));
        for (size_t i = 0; i < ret->n; i++)
                if (ret->list[i].users_error < 0)
                        log_info("Cannot find out who uses %s: %s",
                                 ret->list[i].disk.facts.interface,
                                 strerror(-ret->list[i].users_error));
        return UASD_EXIT_OK;
}

/* The users of the disks that wait. To find them uasd may walk over all processes, so it is asked
 * only if a disk waits. */
static void source_find_users(struct remote *remote, struct courses *courses)
{
        struct courses now = {};

        for (size_t i = 0; i < courses->n; i++)
                if (courses->list[i].state == STATE_WAITING && !courses->list[i].inhibited) {
                        if (remote_read(remote, &now) < 0)
                                return;
                        courses_done(courses);
                        *courses = TAKE_STRUCT(now);
                        return;
                }
}

int source_read(const struct client *c, enum detail detail, struct views *ret)
{
        _cleanup_(remote_close) struct remote remote = {};
        _cleanup_(courses_done) struct courses courses = {};
        bool answers = source_ask(c, REMOTE_LOOK, detail != DETAIL_BRIEF, &remote, &courses);

        if (answers && detail == DETAIL_BRIEF)
                source_find_users(&remote, &courses);
        return source_local(c, detail, answers ? &courses : NULL, ret);
}

bool client_say_command(const struct client *c, enum remedy id, const char *operand,
                        const char *before)
{
        char command[REMEDY_COMMAND_MAX];

        if (remedy_here(&c->roots, id, operand, command, sizeof(command)) < 0)
                return false;
        log_info("%s %s", before, command);
        return true;
}

static int tell_unconnected(const struct client *c, int error)
{
        char room[WHY_MAX];
        const char *why = why_no_answer(c, error, room);

        if (error == -ETIMEDOUT || error == -EBADMSG)
                log_error("%s", why);
        else if (error == -ENETDOWN)
                log_error("%s, and only uasd can do that. root reaches uasd without the bus.", why);
        else if (cmdline_has(&c->roots, CMDLINE_OFF))
                log_error("%s, and only uasd can do that. Restart the machine without that word.",
                          why);
        else if (uasd_off(&c->roots))
                log_error("%s.", why);
        else
                log_error("%s, and only it can do that.", why);
        if (error == -ETIMEDOUT)
                (void) client_say_command(c, REMEDY_WHY_NOT, NULL, _("To see the reason:"));
        else if (error != -EBADMSG && error != -ENETDOWN && !uasd_off(&c->roots))
                (void) client_say_command(c, REMEDY_START, NULL, _("To start it:"));
        return UASD_EXIT_FAILED;
}

static int connected(const struct client *c, int error, struct courses *courses, struct views *ret)
{
        if (error < 0)
                return tell_unconnected(c, error);
        return source_local(c, DETAIL_NO_USERS, courses, ret);
}

int source_connect(const struct client *c, struct remote *ret_remote, struct views *ret)
{
        _cleanup_(courses_done) struct courses courses = {};
        int r = open_remote(c, REMOTE_ORDER, true, ret_remote, &courses);

        return connected(c, r, &courses, ret);
}

int source_connect_if_running(const struct client *c, struct remote *ret_remote, struct views *ret)
{
        _cleanup_(courses_done) struct courses courses = {};
        int r = open_remote(c, REMOTE_ORDER, true, ret_remote, &courses);

        if (r == -ENOTCONN || r == -ENETDOWN)
                return UASD_EXIT_OK;
        return connected(c, r, &courses, ret);
}

int source_lacks(struct remote *remote, const char *member)
{
        char theirs[REMOTE_VERSION_MAX];

        if (remote_version(remote, theirs) && !streq(theirs, UASD_VERSION))
                log_error(
                        "The running uasd is version %s, and this uasctl %s: it does not know '%s'. After an update, restart uasd.",
                        theirs, UASD_VERSION, member);
        else
                log_error(
                        "The running uasd is of another version than this uasctl (%s): it does not know '%s'. After an update, restart uasd.",
                        UASD_VERSION, member);
        return UASD_EXIT_FAILED;
}

int source_lost(int error)
{
        if (error == -ETIMEDOUT)
                return log_failure(UASD_EXIT_FAILED, "uasd does not answer any more.");
        return log_failure(UASD_EXIT_FAILED, "uasd is not there any more.");
}

/* While a disk is switched it has no block device, and then perhaps another name. */
static void say_switching(const struct views *v)
{
        for (size_t i = 0; i < v->n; i++)
                if (v->list[i].disk.state == STATE_SWITCHING)
                        log_info(
                                "%s is being switched and may get another name. Its port is always its name: %s",
                                v->list[i].disk.facts.interface, v->list[i].disk.facts.port);
}

static int say_ambiguous(const char *what, const struct view *const *found, int n)
{
        char product[2 * USB_STRING_MAX];

        log_error("'%s' matches more than one disk:", what);
        for (int i = 0; i < n; i++)
                log_error(found[i]->disk.facts.serial[0] ? N_("  %s  %s  serial %s")
                                                         : N_("  %s  %s  serial none"),
                          VIEW_LABEL(found[i]), view_product(found[i], product, sizeof(product)),
                          found[i]->disk.facts.serial);
        return UASD_EXIT_USAGE;
}

int source_select(const struct client *c, const struct views *v, const char *what,
                  const struct view **ret)
{
        _cleanup_free_ const struct view **found = need(calloc(v->n + 1, sizeof(*found)));
        int r;

        r = select_disks(&c->roots, v, what, found);
        if (r == 1) {
                *ret = found[0];
                return UASD_EXIT_OK;
        }
        if (r > 1)
                return say_ambiguous(what, found, r);
        if (r == -EXDEV)
                log_error("'%s' is not on a USB disk.", what);
        else if (r == -ENOTBLK)
                log_error("'%s' is neither a disk nor a mount point.", what);
        else if (r < 0 && r != -ENOENT)
                log_error("Cannot look at '%s': %s", what, strerror(-r));
        else {
                log_error("There is no USB disk '%s'; uasctl lists them.", what);
                say_switching(v);
        }
        return UASD_EXIT_NO_DISK;
}

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

static pid_t agent_start(void)
{
        _cleanup_close_ int reading = -1, writing = -1;
        char fd[16];
        const char *const argv[] = {AGENT, "--notify-fd", fd, "--fallback", NULL};
        int ends[2];
        pid_t pid;

        if (!isatty(STDIN_FILENO) || pipe2(ends, O_CLOEXEC) < 0)
                return 0;
        reading = ends[0];
        writing = dup(ends[1]); /* without O_CLOEXEC: the agent gets it */
        (void) close(ends[1]);
        (void) snprintf(fd, sizeof(fd), "%i", writing);
        pid = child_spawn(&(struct program){
                .argv = argv, .fds = {-1, -1, -1}, .death = SIGTERM, .foreground = true});
        if (pid < 0)
                return 0;
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
        (void) TEMP_FAILURE_RETRY(waitpid(*agent, NULL, 0));
        *agent = 0;
}

/* ---- requests ---- */

#define ANSWER_MAX 4096

/* Reports the error of a request. Returns an enum uasd_exit. */
static int request_failed(struct remote *remote, const struct remote_call *call,
                          const sd_bus_error *e, int error)
{
        char room[ANSWER_MAX];
        const char *text = sentence_fill(e->message ?: strerror(-error), room, sizeof(room));
        int code = request_code(e);

        if (error == -ENOTCONN || error == -ECONNRESET || (error == -ETIMEDOUT && !e->message))
                return source_lost(error);
        if (call->ret_in_use && sd_bus_error_has_name(e, UASD_BUS_ERROR_IN_USE))
                *call->ret_in_use = strdup(text);
        else if (sd_bus_error_has_name(e, SD_BUS_ERROR_UNKNOWN_METHOD))
                (void) source_lacks(remote, call->method);
        else if (call->disk && code == UASD_EXIT_NO_DISK && !sentence_is_in_parts(e->message))
                log_error("There is no USB disk %s.", call->disk); /* sd-bus looked for it */
        else if (code == UASD_EXIT_UNAUTHORIZED)
                log_error("Not permitted: %s", text);
        else
                log_error("%s", text);
        if (code == UASD_EXIT_UNAUTHORIZED && geteuid() != 0)
                log_info("Run it as root.");
        if (sd_bus_error_has_name(e, UASD_BUS_ERROR_FORCE_NEEDED))
                log_info(FORCE_HELPS);
        return code;
}

int request_reply(const struct client *c, struct remote *remote, const struct remote_call *call,
                  sd_bus_message **ret_reply)
{
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(agent_stop) pid_t agent = 0;
        struct remote_call actual = *call;
        int r;

        actual.interactive = c->ask_password && !remote->peer && geteuid() != 0;
        if (actual.interactive)
                agent = agent_start();
        r = remote_call(remote, &actual, ret_reply, &error);
        if (r < 0)
                return request_failed(remote, &actual, &error, r);
        return UASD_EXIT_OK;
}

/* The answer a{sv} of the methods that store something. An older uasd returns nothing. */
static void say_warning(sd_bus_message *reply)
{
        const char *key, *text, *warning = NULL;
        char room[ANSWER_MAX];

        if (sd_bus_message_enter_container(reply, 'a', "{sv}") < 0)
                return;
        while (sd_bus_message_enter_container(reply, 'e', "sv") > 0) {
                if (sd_bus_message_read(reply, "s", &key) < 0)
                        return;
                if (!streq(key, "warning") && !streq(key, "parts"))
                        (void) sd_bus_message_skip(reply, "v");
                else if (sd_bus_message_read(reply, "v", "s", &text) >= 0)
                        warning = text;
                if (sd_bus_message_exit_container(reply) < 0)
                        return;
        }
        if (warning)
                log_warning("%s", sentence_fill(warning, room, sizeof(room)));
}

int request_call(const struct client *c, struct remote *remote, const struct remote_call *call,
                 char **ret_job)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *job;
        int code = request_reply(c, remote, call, &reply);

        if (code != UASD_EXIT_OK)
                return code;
        if (!ret_job) {
                say_warning(reply);
                return UASD_EXIT_OK;
        }
        if (sd_bus_message_read(reply, "o", &job) < 0)
                return log_failure(UASD_EXIT_FAILED, "uasctl does not understand uasd's answer.");
        *ret_job = need(strdup(job));
        return UASD_EXIT_OK;
}
