/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "client/local.h"
#include "client/watch.h"
#include "common/names.h"
#include "core/trouble.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/io/boot.h"
#include "sys/io/clock.h"
#include "sys/usb/usbdisk.h"

/*
 * uasctl lease: a disk for one program, which gives orders on our standard input, a word each. The
 * answer to each is one line of JSON with the state of the disk. The lease ends with the standard
 * input, with the program, and with us.
 */

/* Longer than a switch with its rollback takes. */
#define SWITCH_USEC (150 * USEC_PER_SEC)
#define RECORDS_MAX 4096
#define SIGNS_MAX 6

/* Signs of the kernel's log about the disk, the first ones first. */
struct lease_signs {
        int kmsg; /* -1: not watched, or no permission to read it */
        struct facts facts;
        char host[16];
        struct {
                const char *what;
                enum blame blame;
                unsigned n;
        } list[SIGNS_MAX];
        size_t n;
};

struct lease_session {
        struct ctl *c;
        char id[INTERFACE_NAME_MAX];
        struct daemon_watch watch; /* without a remote: without uasd */
        int lease;                 /* -1: none */
        bool lost;                 /* uasd has ended the lease, or is not there any more */
        struct lease_signs signs;
        char text[256]; /* of the last answer */
};

/* ---- the kernel's log ---- */

/* Needed after every switch, which makes a new SCSI host. */
static int signs_begin(struct lease_session *s)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {};
        const struct roots *r = &s->c->client.roots;
        struct lease_signs *w = &s->signs;

        (void) close_keep_errno(w->kmsg);
        *w = (struct lease_signs){.kmsg = -1};
        if (usb_disk_read(r, s->id, false, &d) <= 0)
                return UASD_EXIT_NO_DISK;
        w->facts = d.facts;
        (void) copy_string(w->host, sizeof(w->host), d.host);
        w->kmsg = openat(r->dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (w->kmsg >= 0 &&
            lseek(w->kmsg, 0, SEEK_END) < 0) /* earlier records concern earlier events */
                w->kmsg = close_keep_errno(w->kmsg);
        return UASD_EXIT_OK;
}

static void signs_take(struct lease_signs *w, const struct kmsg *k)
{
        struct sign s;
        size_t i = 0;

        /* Signs of a higher weight are no faults. */
        if (!sign_read(k, &s) || !sign_about(&s, &w->facts, w->host, &s) || s.weight > WEIGHT_FATAL)
                return;
        while (i < w->n && !streq(w->list[i].what, s.what))
                i++;
        if (i == SIGNS_MAX)
                return;
        if (i == w->n) {
                w->list[w->n].what = s.what;
                w->list[w->n++].blame = s.blame;
        }
        w->list[i].n++;
}

static json_object *signs_json(struct lease_signs *w)
{
        json_object *list = json_list();
        struct kmsg k;

        for (unsigned i = 0; w->kmsg >= 0 && i < RECORDS_MAX && kmsg_next(w->kmsg, &k) > 0; i++)
                signs_take(w, &k);
        for (size_t i = 0; i < w->n; i++) {
                bool others = w->list[i].blame != BLAME_NONE && w->list[i].blame != BLAME_BRIDGE;

                append(list, json_sign(w->list[i].what, w->list[i].n,
                                       others ? blame_sentence(w->list[i].blame) : NULL));
        }
        return list;
}

/* ---- the answer ---- */

static const struct view *lease_disk(const struct lease_session *s)
{
        return views_find(s->watch.remote ? &s->watch.disks : &s->c->views, s->id);
}

static void lease_answer(struct lease_session *s, int code)
{
        json_print_line(json_lease(code, s->text, s->lost, lease_disk(s), signs_json(&s->signs)));
        (void) fflush(stdout);
        s->text[0] = '\0';
}

/* ---- the orders: each returns an enum uasd_exit ---- */

/* Reads the disk again. A busy uasd is asked again later; the descriptor shows the end of the
 * lease. */
static int lease_read(struct lease_session *s)
{
        int r = s->watch.remote ? daemon_watch_refresh(&s->watch) : 0;

        s->watch.changed = r == -ETIMEDOUT;
        s->lost = s->lost || (r < 0 && r != -ETIMEDOUT);
        return UASD_EXIT_OK;
}

/* Reads the pending messages without waiting. An unplugged disk also ends its lease, and the two
 * may come in any order. */
static int lease_look(struct lease_session *s)
{
        struct pollfd end = {s->lease, 0, 0}; /* without a lease it is -1, which poll() ignores */
        int r = s->watch.remote ? daemon_watch_next(&s->watch, 0) : -ETIMEDOUT;
        bool over = poll(&end, 1, 0) > 0 && end.revents & (POLLHUP | POLLERR | POLLNVAL);

        s->lost = s->watch.gone || (r < 0 && r != -ETIMEDOUT);
        if (!s->lost && (over || s->watch.changed))
                (void) lease_read(s);
        s->lost = s->lost || (over && lease_disk(s));
        return UASD_EXIT_OK;
}

static int lease_take(struct lease_session *s)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int fd, r;

        r = request_reply(&s->c->client, &s->c->remote,
                          &(struct remote_call){.method = "Lease", .disk = s->id}, &reply);
        if (r != UASD_EXIT_OK)
                return r;
        if (sd_bus_message_read(reply, "h", &fd) >= 0)
                s->lease =
                        fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the message closes its own descriptor */
        if (s->lease < 0)
                return log_failure(UASD_EXIT_FAILED, "uasctl does not understand uasd's answer.");
        return lease_look(s);
}

/* Waits for the end of the job, in spite of signals. */
static int lease_await(struct lease_session *s)
{
        uint64_t deadline = now_boottime() + SWITCH_USEC;

        for (;;) {
                int r = daemon_watch_next(&s->watch, deadline);

                if (s->watch.ended) {
                        (void) copy_string(s->text, sizeof(s->text), s->watch.outcome.text);
                        return s->watch.outcome.code < 0 ? UASD_EXIT_FAILED : s->watch.outcome.code;
                }
                if (r < 0 || s->watch.gone) {
                        s->lost = s->lost || r != -ETIMEDOUT;
                        (void) copy_string(s->text, sizeof(s->text),
                                           r == -ETIMEDOUT ? "the switch does not end"
                                                           : "uasd is not there any more");
                        return UASD_EXIT_FAILED;
                }
                s->watch.changed = false;
        }
}

static int lease_switch(struct lease_session *s, const char *to)
{
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        struct remote_call call = {.method = "Switch", .disk = s->id, .value = to};
        _cleanup_free_ char *job = NULL;
        int r;

        r = request_call(&s->c->client, &s->c->remote, &call, &job);
        if (r != UASD_EXIT_OK) {
                (void) copy_string(s->text, sizeof(s->text), "uasd did not begin the switch");
                return r;
        }
        s->watch.job = job;
        s->watch.ended = false;
        r = lease_await(s);
        s->watch.job = NULL;
        s->watch.ended = false;
        progress_clear();
        call = (struct remote_call){.method = "Cancel", .disk = s->id};
        if (s->lease < 0 && r != UASD_EXIT_OK &&
            r != UASD_EXIT_ROLLED_BACK) /* it must not happen later */
                (void) remote_call(&s->c->remote, &call, NULL, &error);
        (void) lease_read(s);
        return r;
}

/* Back to its policy. */
static int lease_restore(struct lease_session *s)
{
        return request_call(&s->c->client, &s->c->remote,
                            &(struct remote_call){.method = "Switch", .disk = s->id, .value = ""},
                            NULL);
}

/* By the kernel's facts: whether uasd would refuse this switch. */
static int lease_plan(struct lease_session *s, const char *to)
{
        _cleanup_(views_done) struct views views = {};
        const struct view *v;
        struct plan plan;

        if (local_read(&s->c->client.roots, DETAIL_NO_USERS, NULL, &views) < 0)
                return UASD_EXIT_OK;
        v = views_find(&views, s->id);
        if (!v)
                return UASD_EXIT_OK;
        plan_switch(v, driver_from_string(to), false, &plan);
        (void) copy_string(s->text, sizeof(s->text), reason_sentence(plan.decision.reason));
        return plan.code;
}

static int lease_obey(struct lease_session *s, const char *order)
{
        bool alone = !s->watch.remote;

        if (streq(order, "look"))
                return lease_look(s);
        if (streq(order, "read"))
                return lease_read(s);
        if (streq(order, "watch"))
                return signs_begin(s);
        if (streq(order, "plan uas") || streq(order, "plan usb-storage"))
                return lease_plan(s, order + strlen("plan "));
        if (streq(order, "lease") && !alone && s->lease < 0)
                return lease_take(s);
        if ((streq(order, DRIVER_NAME_UAS) || streq(order, DRIVER_NAME_BOT)) && !alone)
                return lease_switch(s, order);
        if (streq(order, "policy") && !alone)
                return lease_restore(s);
        return log_failure(UASD_EXIT_USAGE, "'%s' is no order of uasctl lease.", order);
}

/* ---- the session ---- */

/* The orders move elsewhere: the agent that asks for a password takes the standard input. */
static FILE *lease_orders(void)
{
        int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
            tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        FILE *orders = fd < 0 ? NULL : fdopen(fd, "r");

        if (tty >= 0)
                (void) dup2(tty, STDIN_FILENO);
        (void) close_keep_errno(tty);
        return orders;
}

static int lease_run(struct lease_session *s)
{
        _cleanup_fclose_ FILE *orders = lease_orders();
        char line[64];

        if (!orders)
                return log_failure(UASD_EXIT_FAILED, "Cannot read the orders: %s", strerror(errno));
        s->watch.hangup_fd = fileno(orders);
        lease_answer(s, UASD_EXIT_OK);
        while (fgets(line, sizeof(line), orders)) {
                line[strcspn(line, "\n")] = '\0';
                lease_answer(s, lease_obey(s, line));
        }
        return UASD_EXIT_OK;
}

int verb_lease(struct ctl *c, char **args)
{
        struct lease_session s = {
                .c = c, .watch = DAEMON_WATCH_NULL, .lease = -1, .signs.kmsg = -1};
        bool alone = args[1];
        int r;

        if (alone && !streq(args[1], "kernel"))
                return log_failure(UASD_EXIT_USAGE, "'%s' is no value for %s: %.*s", args[1],
                                   "lease", 6, "kernel");
        /* ^C is for the program, which decides about the disk. It must not outlive it. */
        (void) signal(SIGINT, SIG_IGN);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        r = alone ? source_read(&c->client, DETAIL_NO_USERS, &c->views)
                  : ctl_read(c, FROM_DAEMON, NULL);
        if (r == UASD_EXIT_OK)
                r = ctl_select(c, args[0]);
        if (r != UASD_EXIT_OK)
                return r;
        (void) copy_string(s.id, sizeof(s.id), c->v->disk.facts.interface);
        s.watch.disk = s.id;
        s.watch.on_step = progress_show;
        r = alone ? 0 : daemon_watch_open(&s.watch, &c->client.roots, &c->remote);
        if (r < 0)
                return source_lost(r);
        r = lease_run(&s);
        if (s.watch.remote)
                daemon_watch_close(&s.watch);
        (void) close_keep_errno(s.lease);
        (void) close_keep_errno(s.signs.kmsg);
        return r;
}
