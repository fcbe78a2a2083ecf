/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/strings.h"

#include "common/log.h"
#include "daemon/work/child.h"
#include "sys/io/clock.h"
#include "sys/usb/usbdisk.h"

/*
 * Reads the strings of a new device. The kernel has the lock of the device until it has probed all
 * interfaces, and the driver of another interface may need half a minute. uasd adds a disk when it
 * has its strings: policy and history may depend on the serial number.
 */
struct naming {
        struct naming *next;
        struct manager *manager;
        struct facts facts;   /* the device, later with its strings */
        struct child *worker; /* NULL: it has answered, or there is none */
        struct later again;
        bool whole; /* all three strings were read */
};

/* At the start of uasd: most time to wait for devices that are plugged in already. */
#define START_USEC USEC_PER_SEC

/* If no child could ask it: without its serial number a disk would have neither its policy nor its
 * history. */
#define AGAIN_USEC USEC_PER_SEC

/* The child's answer. */
struct device_strings {
        struct facts facts;
        bool whole;
};

static void naming_in_child(const struct roots *roots, void *data, int out)
{
        const struct naming *n = data;
        struct device_strings t = {};
        struct usb_disk d;

        if (usb_disk_read(roots, n->facts.interface, true, &d) <= 0)
                return;
        t.facts = d.facts;
        t.whole = d.strings_anew;
        (void) !write(out, &t, sizeof(t));
}

static void naming_ask(void *data);

static void naming_on_answer(void *data, const struct child_end *end)
{
        struct naming *n = data;
        const struct device_strings *t = end->answer;

        n->worker = NULL;
        if (end->size == sizeof(*t) && facts_same_attachment(&t->facts, &n->facts)) {
                facts_copy_strings(&t->facts, &n->facts);
                n->whole = t->whole;
        } else
                (void) later_call(&n->again, n->manager->event, AGAIN_USEC, naming_ask,
                                  n); /* unless it has gone */
        queue_rescan(n->manager, n->facts.interface);
}

static struct naming **naming_find(struct manager *m, const char *interface)
{
        struct naming **at = &m->namings;

        while (*at && !streq((*at)->facts.interface, interface))
                at = &(*at)->next;
        return at;
}

static void naming_drop(struct naming **at)
{
        struct naming *n = *at;

        *at = n->next;
        child_orphan(n->worker);
        later_cancel(&n->again);
        free(n);
}

void strings_drop(struct manager *m, const char *interface)
{
        struct naming **at = naming_find(m, interface);

        if (*at)
                naming_drop(at);
}

static void naming_ask(void *data)
{
        struct naming *n = data;
        int r = child_run(n->manager, naming_in_child, naming_on_answer, n, -1, &n->worker);

        if (r >= 0)
                return;
        log_warning("%s: its names cannot be read yet: %s", n->facts.interface, strerror(-r));
        (void) later_call(&n->again, n->manager->event, AGAIN_USEC, naming_ask, n);
}

static void naming_new(struct manager *m, const struct facts *f)
{
        struct naming *n = calloc(1, sizeof(*n));

        if (!n)
                return;
        *n = (struct naming){.next = m->namings, .manager = m, .facts = *f};
        m->namings = n;
        naming_ask(n);
}

bool strings_known(struct manager *m, struct facts *f)
{
        struct naming **at = naming_find(m, f->interface), *n = *at;

        if (n && !facts_same_attachment(&n->facts, f)) { /* of the former device */
                naming_drop(at);
                n = NULL;
        }
        if (n && (n->worker || n->again.timer))
                return false;
        if (!n) {
                if (strings_kept(&m->roots, f))
                        return true;
                naming_new(m, f);
                return false;
        }
        facts_copy_strings(&n->facts, f);
        if (n->whole) /* for programs that start while it hangs, uasd included */
                (void) strings_keep(&m->roots, f);
        naming_drop(at);
        return true;
}

void strings_wait(struct manager *m)
{
        usec_t deadline = now_monotonic() + START_USEC;

        for (struct naming *n = m->namings; n; n = n->next)
                if (n->worker)
                        (void) child_wait(n->worker, deadline);
}
