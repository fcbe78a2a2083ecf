/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/lease.h"

#include <fcntl.h>
#include <poll.h>

#include "client/client.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "sys/io/clock.h"
#include "term/terminal.h"

/* Longer than a switch with its rollback takes; and longer than udev needs for a node. */
#define SWITCH_USEC (150 * USEC_PER_SEC)
#define NODE_USEC (10 * USEC_PER_SEC)
/* Longer than the daemon takes to switch the disk back. */
#define OVER_USEC (60 * USEC_PER_SEC)
#define AGAIN_USEC (500 * USEC_PER_MSEC)

/* The node of the LUN, and the history of the disk. */
static void take_view(struct bench_lease *l, const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (v->disk.luns[i].lun == l->lun && v->disk.luns[i].disk.name[0])
                        (void) copy_string(l->block, sizeof(l->block), v->disk.luns[i].disk.name);
        if (streq(l->history, v->history))
                return;
        (void) copy_string(l->history, sizeof(l->history), v->history);
        l->distrusted = strncmp(v->history, "distrusted", strlen("distrusted")) == 0;
}

/* Reads the disk again. A signal that is still on its way may have its new node. */
static int read_again(struct bench_lease *l)
{
        int k = daemon_watch_refresh(&l->watch);
        const struct view *v = views_find(&l->watch.disks, l->interface);

        l->watch.changed = k == -ETIMEDOUT; /* the daemon is busy; the descriptor shows the end of the lease */
        if (k < 0)
                return k == -ETIMEDOUT ? 0 : -EPIPE;
        if (!v)
                return -ENODEV;
        take_view(l, v);
        return 0;
}

int bench_lease_begin(const struct bench_context *c, struct remote *r, const struct view *v, unsigned lun, bool mounted,
                      struct bench_lease *l)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int k, fd;

        *l = LEASE_NULL;
        l->context = c;
        l->remote = r;
        l->lun = lun;
        l->interface = v->disk.facts.interface;
        l->watch.disk = l->interface;
        l->watch.on_step = progress_show;
        k = daemon_watch_open(&l->watch, r);
        if (k < 0)
                return source_lost(k);
        take_view(l, v);
        l->distrusted = false; /* an earlier record is not new */
        if (!l->block[0])
                return UASD_EXIT_NO_DISK;
        if (mounted)
                return UASD_EXIT_OK;
        k = request_reply(&c->client, r, &(struct remote_call){.method = "Lease", .disk = l->interface}, &reply);
        if (k != UASD_EXIT_OK)
                return k;
        if (sd_bus_message_read(reply, "h", &fd) >= 0)
                l->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the message closes its own descriptor */
        if (l->fd >= 0)
                return UASD_EXIT_OK;
        return log_failure(UASD_EXIT_FAILED, "Cannot read the answer of uasd.");
}

void lease_end(struct bench_lease *l)
{
        if (!l->remote)
                return;
        daemon_watch_close(&l->watch);
        (void) close_keep_errno(l->fd);
        *l = LEASE_NULL;
}

int lease_look(struct bench_lease *l)
{
        struct pollfd end = {l->fd, 0, 0}; /* without a lease it is -1, which poll() ignores */
        int k = daemon_watch_next(&l->watch, 0);

        if ((k < 0 && k != -ETIMEDOUT) || l->watch.gone)
                return -EPIPE;
        k = l->watch.changed ? read_again(l) : 0;
        if (k < 0 || poll(&end, 1, 0) <= 0 || !(end.revents & (POLLHUP | POLLERR | POLLNVAL)))
                return k;
        /* The daemon has closed its end. An unplugged disk also ends its lease. The two events may arrive in any order. */
        return read_again(l) == -ENODEV ? -ENODEV : -EPIPE;
}

/* Waits for the end of the job. Returns the exit status of the switch, or of the event that ended the wait. */
static int await_job(struct bench_lease *l, char *ret_text, size_t size)
{
        uint64_t deadline = now_boottime() + SWITCH_USEC;

        for (;;) {
                int k = daemon_watch_next(&l->watch, deadline);

                if (l->watch.ended) {
                        (void) copy_string(ret_text, size, l->watch.outcome.text);
                        if (ret_text[0] && ret_text[strlen(ret_text) - 1] == '.') /* the text becomes part of a sentence */
                                ret_text[strlen(ret_text) - 1] = '\0';
                        return l->watch.outcome.code < 0 ? UASD_EXIT_FAILED : l->watch.outcome.code;
                }
                if (k < 0 || l->watch.gone) {
                        (void) copy_string(ret_text, size,
                                           k == -ETIMEDOUT ? "the switch does not end" : "uasd is not there any more");
                        return UASD_EXIT_FAILED;
                }
                l->watch.changed = false;
        }
}

/* The bus may report the end before udev has made the node. */
static bool await_node(struct bench_lease *l)
{
        uint64_t deadline = now_boottime() + NODE_USEC;

        while (read_again(l) < 0 || faccessat(l->context->client.roots.dev, l->block, R_OK, 0) < 0) {
                if (now_boottime() >= deadline)
                        return false;
                (void) daemon_watch_next(&l->watch, now_boottime() + 200 * USEC_PER_MSEC);
        }
        return true;
}

int lease_switch(struct bench_lease *l, enum driver to, char *ret_text, size_t size)
{
        _cleanup_free_ char *job = NULL;
        int code;

        ret_text[0] = '\0';
        code = request_call(&l->context->client, l->remote,
                            &(struct remote_call){.method = "Switch", .disk = l->interface, .value = driver_to_string(to)}, &job);
        if (code != UASD_EXIT_OK) {
                (void) copy_string(ret_text, size, "uasd did not begin the switch");
                return code;
        }
        l->watch.job = job;
        l->watch.ended = false;
        code = await_job(l, ret_text, size);
        l->watch.job = NULL;
        l->watch.ended = false;
        if (l->fd < 0 && code != UASD_EXIT_OK && code != UASD_EXIT_ROLLED_BACK) { /* it must not happen later */
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

                (void) remote_call(l->remote, &(struct remote_call){.method = "Cancel", .disk = l->interface}, NULL, &error);
        }
        if (!await_node(l) && code == UASD_EXIT_OK) {
                (void) copy_string(ret_text, size, "its node did not come back");
                code = UASD_EXIT_FAILED;
        }
        return code;
}

void lease_keep_off_uas(const struct bench_context *c, const char *interface)
{
        struct remote_call call = {.method = "Switch", .disk = interface, .value = DRIVER_NAME_BOT};
        uint64_t deadline = now_boottime() + OVER_USEC;

        for (;;) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_(remote_close) struct remote remote = {};
                _cleanup_(views_done) struct views views = {};
                int k;

                /* A new connection: over that of the lease it would be a switch under the lease. */
                if (source_connect(&c->client, &remote, &views) != UASD_EXIT_OK)
                        return;
                k = remote_call(&remote, &call, NULL, &error);
                if (k >= 0) {
                        log_info("The disk failed under uas, so it stays on usb-storage until it is unplugged. "
                                 "'uasctl switch %s' ends that.",
                                 interface);
                        return;
                }
                if (!sd_bus_error_has_name(&error, UASD_BUS_ERROR_IN_USE) || now_boottime() >= deadline) {
                        log_info("The disk failed under uas, but goes back to it: %s", error.message ?: strerror(-k));
                        return;
                }
                (void) usleep(AGAIN_USEC);
        }
}
