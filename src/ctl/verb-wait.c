/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/ctl.h"

#include "ctl/output.h"
#include "sys/io/clock.h"

/* Without the daemon there is no signal when a hold ends. */
#define LOOK_AGAIN_USEC (500 * USEC_PER_MSEC)

static int gone(const char *what)
{
        return log_failure(UASD_EXIT_NO_DISK, "%s: the disk is gone.", what);
}

static int out_of_time(const struct view *v)
{
        log_info("%s: timed out. %s", v->disk.facts.interface, TRANSLATED(v->reason));
        return UASD_EXIT_DEFERRED;
}

static int wait_remote(struct ctl *c, const char *id, uint64_t end)
{
        _cleanup_(daemon_watch_close) struct daemon_watch watch = DAEMON_WATCH_NULL;
        int r;

        watch.disk = id;
        watch.on_step = progress_show;
        r = daemon_watch_open(&watch, &c->remote);
        for (;;) {
                bool late = now_boottime() >= end;
                const struct view *v;

                if (late && (r >= 0 || r == -ETIMEDOUT)) /* for the present reason */
                        r = daemon_watch_refresh(&watch);
                v = views_find(&watch.disks, id);
                if ((r < 0 && r != -ETIMEDOUT) || watch.gone)
                        return source_lost(r < 0 ? r : -ENOTCONN);
                if (!v)
                        return gone(id);
                if (!state_is_pending(v->disk.state))
                        return UASD_EXIT_OK;
                if (late)
                        return out_of_time(v);
                watch.changed = false;
                r = daemon_watch_next(&watch, end);
        }
}

static int wait_local(struct ctl *c, const char *id, uint64_t end)
{
        for (;;) {
                _cleanup_(views_done) struct views views = {};
                const struct view *v;
                int r;

                r = source_local(&c->client, true, &views);
                if (r != UASD_EXIT_OK)
                        return r;
                v = views_find(&views, id);
                if (!v)
                        return gone(id);
                if (!state_is_pending(v->disk.state) && v->disk.unattended) {
                        log_info("%s: uasd would switch it to %s. To start uasd: systemctl start uasd", id,
                                 driver_to_string(v->disk.decision.target));
                        return UASD_EXIT_DEFERRED;
                }
                if (!state_is_pending(v->disk.state))
                        return UASD_EXIT_OK;
                if (now_boottime() >= end)
                        return out_of_time(v);
                (void) usleep(LOOK_AGAIN_USEC);
        }
}

int verb_wait(struct ctl *c, char **args)
{
        uint64_t now = now_boottime(), end = UINT64_MAX;
        bool daemon;
        int r = UASD_EXIT_OK;

        if (c->options->wait_usec < UINT64_MAX - now)
                end = now + c->options->wait_usec;
        daemon = c->client.host || source_ask(&c->client, REMOTE_ORDER, &c->remote, &c->views);
        if (c->client.host || !daemon)
                r = ctl_read(c, daemon ? FROM_DAEMON : FROM_KERNEL, NULL);
        if (r == UASD_EXIT_OK)
                r = ctl_choose(c, args);
        for (size_t i = 0; r == UASD_EXIT_OK && i < c->views.n; i++)
                r = (daemon ? wait_remote : wait_local)(c, c->views.list[i].disk.facts.interface, end);
        return r;
}
