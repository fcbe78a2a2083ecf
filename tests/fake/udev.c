/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"
#include "fake.h"
#include "sys/state/switch-record.h"

/* The uevents of the kernel, and what udev does with them: a worker for each disk, which keeps it open until it has finished. */

#define ANNOUNCE_USEC (5 * USEC_PER_MSEC) /* the kernel reads the partition table before */
#define REMOVE_USEC (20 * USEC_PER_MSEC)

static struct fake_event *add(const struct fake_usb *u, const char *name, bool remove, bool processed)
{
        struct fake_event *e = &fake->events[0];
        uint64_t earliest = fake->clock;

        for (unsigned i = 0; i < ELEMENTSOF(fake->events) && e->name[0]; i++)
                e = fake->events[i].name[0] && fake->events[i].number > e->number ? e : &fake->events[i];
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) /* udev handles the events of one device in order */
                if (fake->events[i].processed && streq(fake->events[i].name, name) && fake->events[i].due != UINT64_MAX &&
                    fake->events[i].due > earliest)
                        earliest = fake->events[i].due;
        *e = (struct fake_event){.number = ++fake->n_events, .remove = remove, .processed = processed};
        e->due = !processed ? fake->clock + (remove ? 0 : ANNOUNCE_USEC) : earliest + (remove ? REMOVE_USEC : fake->udev_usec);
        (void) copy_string(e->name, sizeof(e->name), name);
        (void) copy_string(e->interface, sizeof(e->interface), u->interface);
        return e;
}

static struct fake_node *node_of(const struct fake_event *e)
{
        struct fake_lun *l = NULL;
        struct fake_node *n = kernel_node(e->name, NULL, &l);

        return n && l->diskseq == e->diskseq ? n : NULL;
}

void udev_adds(const struct fake_usb *u, struct fake_lun *l)
{
        for (unsigned i = 0; i < l->n_nodes; i++) {
                struct fake_event *e = add(u, l->nodes[i].name, false, false);

                e->diskseq = l->diskseq;
                e = add(u, l->nodes[i].name, false, true);
                e->diskseq = l->diskseq;
                e->letter = l->letter;
                e->asked = fake->clock;
                /* waits_for_the_switch (hold/hold.c): udev's helper does not return while the disk is about to be tried. */
                e->waits = switch_awaited(&fake->roots, u->interface);
                if (e->waits)
                        e->due = UINT64_MAX;
                else
                        l->nodes[i].held = rule_holds(u);
        }
}

void udev_removes(const struct fake_usb *u, const struct fake_lun *l)
{
        for (unsigned i = 0; i < l->n_nodes; i++) {
                (void) add(u, l->nodes[i].name, true, false);
                (void) add(u, l->nodes[i].name, true, true);
        }
}

void udev_passes(void)
{
        int awaited = -1;

        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                struct fake_event *e = &fake->events[i];
                struct fake_node *n = node_of(e);

                if (!e->waits)
                        continue;
                if (awaited < 0) /* one switch at a time */
                        awaited = switch_awaited(&fake->roots, e->interface);
                if (awaited && fake->clock < e->asked + AWAIT_USEC)
                        continue;
                e->waits = false;
                e->due = fake->clock + fake->udev_usec;
                for (unsigned u = 0; u < fake->n_usb; u++)
                        if (n && streq(fake->usb[u].interface, e->interface))
                                n->held = rule_holds(&fake->usb[u]);
        }
}

/* udev_is_done (v 7): a worker that has a disk open keeps its letter in use, also when the disk is gone. */
bool udev_has_open(int letter)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].processed && !fake->events[i].remove && fake->events[i].letter == letter &&
                    fake->events[i].due > fake->clock && fake->events[i].name[0] && !node_of(&fake->events[i]))
                        return true;
        return false;
}

bool udev_not_announced(void)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (!fake->events[i].processed && !fake->events[i].remove && fake->events[i].due > fake->clock &&
                    node_of(&fake->events[i]))
                        return true;
        return false;
}

bool udev_has_finished(const struct fake_lun *l)
{
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++)
                if (fake->events[i].processed && !fake->events[i].remove && fake->events[i].diskseq == l->diskseq &&
                    fake->events[i].due > fake->clock)
                        return false;
        return true;
}

struct fake_event *udev_due(bool processed, uint64_t since)
{
        struct fake_event *first = NULL;

        udev_passes();
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                struct fake_event *e = &fake->events[i];

                if (e->name[0] && !e->told && e->processed == processed && e->due <= fake->clock && e->due >= since &&
                    (!first || e->number < first->number))
                        first = e;
        }
        return first;
}
