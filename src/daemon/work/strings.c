/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/work.h"

#include "common/log.h"
#include "sys/io/clock.h"
#include "sys/usb/strings.h"
#include "sys/usb/usbdisk.h"

/*
 * Reads the strings of a new device. The kernel has the lock of the device until it has probed all interfaces, and the driver of
 * another interface may need half a minute. uasd adds a disk when it has its strings: policy and history may depend on the serial
 * number.
 */
struct naming {
        struct naming *next;
        struct manager *manager;
        struct facts facts;   /* the device, later with its strings */
        struct child *worker; /* NULL: it has answered, or there is none */
        sd_event_source *again;
        bool whole; /* all three strings were read */
};

/* At the start of uasd: most time to wait for devices that are plugged in already. */
#define START_USEC USEC_PER_SEC

/* If no child could ask it: without its serial number a disk would have neither its policy nor its history. */
#define AGAIN_USEC USEC_PER_SEC

/* The child's answer. */
struct device_strings {
        struct facts facts;
        bool whole;
};

static void in_child(const struct roots *r, void *data, int out)
{
        const struct naming *n = data;
        struct device_strings t = {};
        struct usb_disk d;

        if (usb_disk_read(r, n->facts.interface, true, &d) <= 0)
                return;
        t.facts = d.facts;
        t.whole = d.strings_anew;
        (void) !write(out, &t, sizeof(t));
}

static void ask(struct naming *n);

static int on_again(sd_event_source *s, usec_t usec, void *data)
{
        struct naming *n = data;

        n->again = sd_event_source_disable_unref(s);
        ask(n);
        return 0;
}

static void ask_again(struct naming *n)
{
        (void) sd_event_add_time_relative(n->manager->event, &n->again, CLOCK_MONOTONIC, AGAIN_USEC, 0, on_again, n);
}

static void on_told(void *data, const struct child_end *end)
{
        struct naming *n = data;
        const struct device_strings *t = end->answer;

        n->worker = NULL;
        if (end->size == sizeof(*t) && facts_same_attachment(&t->facts, &n->facts)) {
                facts_copy_strings(&t->facts, &n->facts);
                n->whole = t->whole;
        } else
                ask_again(n); /* unless it has gone */
        queue_rescan(n->manager, n->facts.interface);
}

static struct naming **find(struct manager *m, const char *interface)
{
        struct naming **at = &m->namings;

        while (*at && !streq((*at)->facts.interface, interface))
                at = &(*at)->next;
        return at;
}

static void drop(struct naming **at)
{
        struct naming *n = *at;

        *at = n->next;
        child_orphan(n->worker);
        sd_event_source_disable_unref(n->again);
        free(n);
}

void strings_drop(struct manager *m, const char *interface)
{
        struct naming **at = find(m, interface);

        if (*at)
                drop(at);
}

static void ask(struct naming *n)
{
        int r = child_run(n->manager, in_child, on_told, n, -1, &n->worker);

        if (r >= 0)
                return;
        log_warning("%s: its names cannot be read yet: %s", n->facts.interface, strerror(-r));
        ask_again(n);
}

static void name(struct manager *m, const struct facts *f)
{
        struct naming *n = calloc(1, sizeof(*n));

        if (!n)
                return;
        *n = (struct naming){.next = m->namings, .manager = m, .facts = *f};
        m->namings = n;
        ask(n);
}

bool strings_known(struct manager *m, struct facts *f)
{
        struct naming **at = find(m, f->interface), *n = *at;

        if (n && !facts_same_attachment(&n->facts, f)) { /* of the former device */
                drop(at);
                n = NULL;
        }
        if (n && (n->worker || n->again))
                return false;
        if (!n) {
                if (strings_kept(&m->roots, f))
                        return true;
                name(m, f);
                return false;
        }
        facts_copy_strings(&n->facts, f);
        if (n->whole) /* for programs that start while it hangs, uasd included */
                (void) strings_keep(&m->roots, f);
        drop(at);
        return true;
}

void strings_wait(struct manager *m)
{
        usec_t deadline = now_monotonic() + START_USEC;

        for (struct naming *n = m->namings; n; n = n->next)
                if (n->worker)
                        (void) child_wait(n->worker, deadline);
}
