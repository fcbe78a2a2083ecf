/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/source/sources.h"

#include <fcntl.h>

#include "common/log.h"
#include "common/names.h"
#include "daemon/manager.h"
#include "sys/io/boot.h"
#include "sys/io/statefile.h"

/* If the kernel floods its log, it is read in batches. */
#define WAKEUPS_PER_SEC 20
#define RECORDS_PER_WAKEUP 4096
/* No data is at risk on usb-storage, and many machines have only such sticks. Their log wakes uasd
 * at most this often. */
#define STORAGE_PAUSE_USEC (10 * USEC_PER_SEC)

/*
 * The kernel's records about disks. Without a disk the source is off, and no record wakes uasd. The
 * last number is kept over a restart, so that no record counts twice. The accounts are kept as
 * well, so that no record is forgotten.
 */

/* A result that has been acted upon does not count any more. */
static bool kmsg_has_account(const struct entry *e)
{
        enum driver d = e->life.disk.facts.driver;

        return (d == DRIVER_UAS || d == DRIVER_USB_STORAGE) && e->trouble.account.driver == d &&
               !e->life.attempt.running && !e->trouble.acted;
}

#define ACCOUNT_KEY_MAX (ATTACHMENT_MAX + 16)
static const char *account_key(const struct entry *e, char ret[static ACCOUNT_KEY_MAX])
{
        char attachment[ATTACHMENT_MAX];

        (void) snprintf(ret, ACCOUNT_KEY_MAX, "%s/%s",
                        facts_attachment(&e->life.disk.facts, attachment),
                        driver_to_string(e->trouble.account.driver));
        return ret;
}

static int kmsg_take_kept(const char *key, const char *value, void *data)
{
        struct manager *m = data;
        unsigned long long seq;

        if (streq(key, "SEQ") && parse_uint(value, 10, UINT64_MAX - 1, &seq) >= 0)
                m->kmsg.next = seq + 1;
        FOREACH_ENTRY (e, m) {
                char own[ACCOUNT_KEY_MAX];

                if (streq(key, account_key(e, own)) && kmsg_has_account(e))
                        (void) trouble_take_line(&e->trouble.account, value);
        }
        return 0;
}

void kmsg_keep(struct manager *m)
{
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out;

        if (m->kmsg.next == 0)
                return;
        out = open_memstream(&text, &size);
        if (!out)
                return;
        (void) fprintf(out, "SEQ=%llu\n", (unsigned long long) m->kmsg.next - 1);
        FOREACH_ENTRY (e, m) {
                char key[ACCOUNT_KEY_MAX], lines[TROUBLE_TEXT_MAX];

                if (kmsg_has_account(e))
                        (void) fputs(trouble_text(&e->trouble.account, account_key(e, key), lines),
                                     out);
        }
        if (fclose(out) >= 0)
                (void) state_write(m->roots.run, RUN_KMSG, text, false);
}

/* live: false for records from before uasd listened, when a host's number may have been another
 * disk's. */
static void kmsg_take_records(struct manager *m, bool live)
{
        struct kmsg_watch *w = &m->kmsg;
        struct kmsg k;
        struct sign s;

        /* A log that fills faster than it is read must leave time for everything else. */
        for (unsigned i = 0; i < RECORDS_PER_WAKEUP && kmsg_next(w->fd, &k) > 0; i++) {
                if (k.seq < w->next)
                        continue;
                w->next = k.seq + 1;
                if (sign_read(&k, &s) && w->take(m, &s, k.usec, live))
                        kmsg_keep(m);
        }
}

static void kmsg_resume(void *data)
{
        struct manager *m = data;

        (void) sd_event_source_set_enabled(m->kmsg.source, SD_EVENT_ON);
}

static int kmsg_on_record(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct manager *m = data;
        struct kmsg_watch *w = &m->kmsg;
        usec_t now = now_monotonic(), period = w->often ? USEC_PER_SEC : STORAGE_PAUSE_USEC;

        if (now - w->since >= period) {
                w->since = now;
                w->wakeups = 0;
        }
        if (w->wakeups++ >= (w->often ? WAKEUPS_PER_SEC : 1) &&
            later_call(&w->pause, m->event, w->since + period - now, kmsg_resume, m) >= 0)
                return sd_event_source_set_enabled(s, SD_EVENT_OFF);
        kmsg_take_records(m, true);
        return 0;
}

void kmsg_drain(struct manager *m)
{
        if (m->kmsg.armed)
                kmsg_take_records(m, true);
}

void kmsg_arm(struct manager *m)
{
        struct kmsg_watch *w = &m->kmsg;
        /* Also for a disk without a driver: to read the boot's records takes long, and after the
         * bind there is no time for it. */
        bool wanted = m->n_entries > 0, often = false;

        if (w->fd < 0)
                return;
        FOREACH_ENTRY (e, m)
                often = often || e->life.disk.facts.driver == DRIVER_UAS;
        if (wanted == w->armed && often == w->often)
                return;
        if (wanted && !w->armed)
                kmsg_take_records(m, false);
        w->armed = wanted;
        w->often = often;
        w->wakeups = 0;
        later_cancel(&w->pause);
        (void) sd_event_source_set_enabled(w->source, wanted ? SD_EVENT_ON : SD_EVENT_OFF);
}

static int kmsg_watch_log(struct manager *m)
{
        struct kmsg_watch *w = &m->kmsg;
        int r;

        w->armed = w->often = false;
        w->fd = openat(m->roots.dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (w->fd < 0)
                return -errno;
        r = sd_event_add_io(m->event, &w->source, w->fd, EPOLLIN, kmsg_on_record, m);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(w->source, SD_EVENT_OFF);
        if (r < 0)
                return r;
        /* All other events first: they may change the facts of the disk that a record is about. */
        return sd_event_source_set_priority(w->source, SD_EVENT_PRIORITY_IDLE);
}

void kmsg_start(struct manager *m, kmsg_sign_fn take)
{
        struct kmsg_watch *w = &m->kmsg;
        int r;

        w->take = take;
        r = kmsg_watch_log(m);
        if (r < 0) {
                log_warning("the kernel's log cannot be read, so no disk is watched for errors: %s",
                            strerror(-r));
                w->fd = close_keep_errno(w->fd);
        }
        (void) state_read(m->roots.run, RUN_KMSG, kmsg_take_kept, m);
        kmsg_arm(m); /* also reads this boot's records of disks that are on uas already */
}
