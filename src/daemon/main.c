/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "daemon/feature/event-hooks.h"
#include "daemon/loop.h"
#include "daemon/manager.h"
#include "sys/platform/off.h"

static int uasd_on_stop(sd_event_source *s, const struct signalfd_siginfo *si, void *data)
{
        (void) sd_notify(0, "STOPPING=1");
        /* now, because an event loop that has ended takes no child for the last records */
        manager_end(data);
        return sd_event_exit(sd_event_source_get_event(s), 0);
}

static int uasd_run(struct manager *m)
{
        sd_event_source *term;
        int r;

        r = sd_event_add_signal(m->event, &term, SIGTERM, uasd_on_stop, m);
        if (r < 0)
                return r;
        /* A signal to stop goes before all events that are ready at the same moment, such as an
         * unmounted disk. */
        r = sd_event_source_set_priority(term, SD_EVENT_PRIORITY_IMPORTANT - 10);
        if (r < 0)
                return r;
        r = sd_event_add_signal(m->event, NULL, SIGINT, uasd_on_stop, m);
        if (r < 0)
                return r;
        r = manager_start(m);
        if (r < 0)
                return r;
        (void) sd_notify(0, "READY=1\nSTATUS=Looking after USB disks");
        (void) malloc_trim(0); /* what the first look at all disks needed once */
        return loop_run(m->event);
}

int main(int argc, char *argv[])
{
        static struct manager *m; /* it lives as long as the process */
        const char *off, *event = argc == 3 && streq(argv[1], OPTION_EVENT) ? argv[2] : NULL;
        sigset_t mask;
        int r;

        log_open_service("uasd", getenv("UASD_DEBUG") ? LOG_DEBUG : LOG_INFO);
        sentences_have(SENTENCE_IN_PARTS);
        if (argc > 1 && !event) {
                if (argc == 2 && streq(argv[1], "--version")) {
                        (void) printf("uasd %s\n", UASD_VERSION);
                        return 0;
                }
                log_error("uasd takes no arguments. See uasd(8).");
                return 2;
        }
        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGTERM);
        (void) sigaddset(&mask, SIGINT);
        (void) sigaddset(&mask, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);
        (void) signal(SIGPIPE, SIG_IGN);

        /* Else it would keep the disk busy on which a person was who has started it. */
        (void) !chdir("/");
        r = manager_new(NULL, &m);
        if (r < 0) {
                log_error("cannot go on: %s", strerror(-r));
                return 1;
        }
        if (event) { /* uasd-event@.service */
                event_hooks_run(m, event);
                return 0;
        }
        off = uasd_off(&m->roots);
        if (off) {
                log_notice("switching no disk: %s", off);
                r = sd_notifyf(0, "READY=1\nSTATUS=Off: %s", off);
                /* A supervisor without sd_notify(3) starts a program again when it ends. */
                (void) sigdelset(&mask, SIGCHLD);
                if (r == 0)
                        (void) sigwait(&mask, &r);
                return 0;
        }
        /* A package of a NAS starts it as another user until root has allowed more. */
        if (faccessat(m->roots.run, ".", W_OK, AT_EACCESS) < 0 && errno == EACCES) {
                log_error("only root can run uasd: this user may not write to /run");
                return 1;
        }
        r = uasd_run(m);
        if (r == -EALREADY) { /* whose trials are not ours to end */
                log_error("another uasd is at work already");
                return 1;
        }
        if (r < 0)
                log_error("cannot go on: %s", strerror(-r));
        manager_end(m);
        return r < 0;
}
