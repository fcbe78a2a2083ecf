/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the disks of a log, and weighs the messages about each. */
#include <ctype.h>

#include "replay.h"

#define PORT_MAX 32

static struct replayed *by_port(struct replay *r, const char *port, bool create)
{
        struct replayed *d;
        struct sign s;

        for (size_t i = 0; i < r->n; i++)
                if (streq(r->disks[i].facts.port, port))
                        return r->disks + i;
        if (!create || r->n == DISKS_MAX)
                return NULL;
        d = r->disks + r->n;
        *d = (struct replayed){0};
        if (!copy_string(d->facts.port, sizeof(d->facts.port), port))
                return NULL;
        r->n++;
        trouble_driver(&d->account, r->without_uas ? DRIVER_USB_STORAGE : DRIVER_UAS, TRUST_GOOD);
        d->facts.busnum = (unsigned) strtoul(port, NULL, 10);
        if (sign_read(&r->excuse, &s))
                trouble_take(&d->account, &s, r->excuse.usec, &(struct finding){});
        return d;
}

/* The log shows that a driver takes it. */
static void driven(struct replayed *d, enum driver driver)
{
        d->drives = true;
        d->fresh = d->other = false;
        trouble_driver(&d->account, driver, d->account.trust);
}

/* uas does not name the port of its host. It takes disks in the order in which the kernel has found
 * them. */
static struct replayed *oldest_fresh(struct replay *r)
{
        for (size_t i = 0; i < r->n; i++)
                if (r->disks[i].fresh)
                        return r->disks + i;
        return NULL;
}

static struct replayed *by_host(struct replay *r, const char *host)
{
        for (size_t i = 0; i < r->n; i++)
                if (streq(r->disks[i].host, host))
                        return r->disks + i;
        return NULL;
}

/*
 * The disk of a SCSI host that uas has. If the log does not say which it is, it is the only disk,
 * or a disk of its own that has the name of the host.
 */
static struct replayed *of_uas(struct replay *r, const char *host)
{
        struct replayed *d = by_host(r, host), *only = NULL;
        size_t n = 0;

        if (d)
                return d;
        for (size_t i = 0; i < r->n; i++)
                if (r->disks[i].drives || r->n == 1) {
                        only = r->disks + i;
                        n++;
                }
        if (n != 1 || only->host[0])
                only = by_port(r, host, true);
        if (only) {
                only->drives = true;
                (void) copy_string(only->host, sizeof(only->host), host);
        }
        return only;
}

static bool is_port(const char *s)
{
        size_t n = strlen(s);

        return s[strspn(s, "0123456789")] == '-' && isdigit((unsigned char) s[0]) &&
               isdigit((unsigned char) s[n - 1]) && s[strspn(s, "0123456789-.")] == '\0';
}

/* The words that name a port begin after the first blank of the text, and end at a colon: that of
 * the port, or of an interface.
 */
static bool port_in(const char *text, char *ret, size_t size)
{
        const char *s = strchr(text, ' ');
        size_t n = s ? strcspn(s + 1, ": ") : 0;

        if (n == 0 || s[1 + n] != ':' || !copy_part(ret, size, s + 1, n))
                return false;
        return is_port(ret);
}

static void learn_host(struct replay *r, const char *text)
{
        char host[16], driver[16];
        struct replayed *d;
        int port = 0;

        if (sscanf(text, "scsi %15[a-z0-9]: %15[a-z-]%n", host, driver, &port) != 2)
                return;
        if ((d = by_host(r, host))) /* the number was another disk's before */
                d->host[0] = '\0';
        if (streq(driver, "usb-storage") && text[port] == ' ') {
                char name[PORT_MAX];
                size_t n = strcspn(text + port + 1, ":");

                d = copy_part(name, sizeof(name), text + port + 1, n) && is_port(name)
                            ? by_port(r, name, true)
                            : NULL;
        } else if (streq(driver, "uas") && !text[port])
                d = oldest_fresh(r) ?: of_uas(r, host);
        else
                return;
        if (!d)
                return;
        driven(d, streq(driver, "uas") ? DRIVER_UAS : DRIVER_USB_STORAGE);
        (void) copy_string(d->host, sizeof(d->host), host);
}

static void learn_device(struct replay *r, const char *text, const char *port)
{
        /* The speed before it has one word or more. */
        const char *number = strstr(text, " USB device number "), *what = strstr(text, ": ");
        bool is_new = what && startswith(what, ": new ");
        struct replayed *d;

        if (!number || !what || (!is_new && !startswith(what, ": reset ")) ||
            !(d = by_port(r, port, true)))
                return;
        d->facts.devnum = (unsigned) strtoul(number + strlen(" USB device number "), NULL, 10);
        if (is_new) {
                d->fresh = !strstr(text, "low-speed") && !strstr(text, "full-speed");
                d->host[0] = '\0';
                d->other = false;
        }
}

static void learn_controller(struct replay *r, const char *text)
{
        const char *bus = strstr(text, ": new USB bus registered, assigned bus number ");
        char name[64];
        unsigned long number;

        if (sscanf(text, "xhci%*[-_]hcd %63[^ ]", name) != 1 || name[strlen(name) - 1] != ':')
                return;
        name[strlen(name) - 1] = '\0';
        (void) copy_string(r->controller, sizeof(r->controller), name);
        number = bus ? strtoul(bus + strlen(": new USB bus registered, assigned bus number "), NULL,
                               10)
                     : 0;
        if (number > 0 && number <= BUSES_MAX)
                (void) copy_string(r->buses[number], sizeof(r->buses[number]), name);
}

static void learn(struct replay *r, const char *text)
{
        char port[PORT_MAX];
        struct replayed *d;

        learn_host(r, text);
        learn_controller(r, text);
        if (!port_in(text, port, sizeof(port)))
                return;
        if (startswith(text, "usb "))
                learn_device(r, text, port);
        else if (startswith(text, "usb-storage ") &&
                 strstr(text, ": USB Mass Storage device detected")) {
                if ((d = by_port(r, port, true)))
                        driven(d, DRIVER_USB_STORAGE);
        } else if (!startswith(text, "uas ") && !startswith(text, "usb-storage ") &&
                   (d = by_port(r, port, false))) {
                d->fresh = false;
                d->other = !d->drives;
        }
}

/* The fields that the kernel adds to a record, as far as its text shows them. */
static void add_fields(struct replay *r, struct kmsg *k)
{
        char name[64], port[PORT_MAX];
        unsigned a, b, c, e;
        const struct replayed *d;

        if (sscanf(k->text, "%*[a-z] %u:%u:%u:%u: ", &a, &b, &c, &e) == 4) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "scsi");
                (void) snprintf(k->device, sizeof(k->device), "+scsi:%u:%u:%u:%u", a, b, c, e);
        } else if (sscanf(k->text, "scsi host%u: ", &a) == 1) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "scsi");
                (void) snprintf(k->device, sizeof(k->device), "+scsi:host%u", a);
        } else if (startswith(k->text, "usb ") && port_in(k->text, port, sizeof(port))) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "usb");
                d = by_port(r, port, false);
                if (d && d->facts.devnum > 0 && d->facts.devnum <= 128 && d->facts.busnum > 0 &&
                    !strstr(k->text, ": new "))
                        (void) snprintf(k->device, sizeof(k->device), "c189:%u",
                                        (d->facts.busnum - 1) * 128 + d->facts.devnum - 1);
                else
                        (void) snprintf(k->device, sizeof(k->device), "+usb:%s", port);
        } else if (port_in(k->text, port, sizeof(port))) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "usb");
                (void) snprintf(k->device, sizeof(k->device), "+usb:%s:1.0", port);
        } else if (sscanf(k->text, "%*[a-z_-] %63[^ ]", name) == 1 &&
                   name[strlen(name) - 1] == ':') {
                name[strlen(name) - 1] = '\0';
                if (!strpbrk(name, ".:")) /* "usb2-port1" */
                        return;
                (void) copy_string(k->subsystem, sizeof(k->subsystem),
                                   strchr(name, ':') ? "pci" : "platform");
                (void) snprintf(k->device, sizeof(k->device), "+%s:%.40s", k->subsystem, name);
        }
}

static void weigh(struct replay *r, struct replayed *d, const struct sign *s, const struct kmsg *k)
{
        static const enum findings severity[] = {FINDING_NONE, FINDING_NOTED, FINDING_BLAMED,
                                                 FINDING_BROKEN, FINDING_CLEARED};
        struct finding f;
        size_t now = 0, before = 0;

        trouble_take(&d->account, s, k->usec, &f);
        if (f.finding == FINDING_NONE)
                return;
        while (severity[now] != f.finding)
                now++;
        while (severity[before] != d->worst)
                before++;
        if (r->found)
                r->found(d, &f, k->usec);
        if (now >= before) {
                d->worst = f.finding;
                d->blame = f.blame;
        }
}

/* A log may not show to which controller the bus of a disk belongs. Then it is the last one, unless
 * that is known to have others.
 */
static const char *controller_of(const struct replay *r, const struct replayed *d)
{
        if (d->facts.busnum <= BUSES_MAX && r->buses[d->facts.busnum][0])
                return r->buses[d->facts.busnum];
        for (size_t i = 0; i <= BUSES_MAX; i++)
                if (streq(r->buses[i], r->controller))
                        return "";
        return r->controller;
}

void replay_take(struct replay *r, struct kmsg *k)
{
        struct sign s, own;

        learn(r, k->text);
        if (!k->device[0])
                add_fields(r, k);
        if (!sign_read(k, &s))
                return;
        if (s.excuses && (s.place == PLACE_CONTROLLER || s.place == PLACE_MACHINE))
                r->excuse = *k;
        /* Other hosts may be of SATA or iSCSI: only a message of uas shows that it is one of USB.
         */
        if (s.place == PLACE_HOST && strstr(k->text, "uas"))
                (void) of_uas(r, s.name);
        for (size_t i = 0; i < r->n; i++) {
                struct replayed *d = r->disks + i;

                if (!d->facts.controller_device[0])
                        (void) copy_string(d->facts.controller_device,
                                           sizeof(d->facts.controller_device), controller_of(r, d));
                if (!d->other && sign_about(&s, &d->facts, d->host, &own))
                        weigh(r, d, &own, k);
        }
}

bool replay_directive(struct replay *r, const char *line)
{
        char port[PORT_MAX], word[64], host[16];
        unsigned bus, dev;
        struct replayed *d;

        if (sscanf(line, "#driver %31s %63s", port, word) == 2 && is_port(port) &&
            (d = by_port(r, port, true))) {
                int driver = driver_from_string(word);

                if (driver == DRIVER_UAS || driver == DRIVER_USB_STORAGE)
                        driven(d, (enum driver) driver);
        } else if (sscanf(line, "#dev %31[0-9.-]=%u", port, &dev) == 2 && is_port(port) &&
                   (d = by_port(r, port, true)))
                d->facts.devnum = dev;
        else if (sscanf(line, "#facts %15s %31s %u %u %63s", host, port, &bus, &dev, word) == 5 &&
                 is_port(port) && (d = by_port(r, port, true))) {
                d->drives = true;
                d->facts.busnum = bus;
                d->facts.devnum = dev;
                (void) copy_string(d->host, sizeof(d->host), host);
                (void) copy_string(d->facts.controller_device, sizeof(d->facts.controller_device),
                                   word);
        }
        return line[0] == '#';
}

void replay_begin(struct replay *r, const char *log)
{
        void (*found)(const struct replayed *, const struct finding *, usec_t) = r->found;

        *r = (struct replay){.found = found};
        /* uas reports each reset; the kernel alone reports those of usb-storage. */
        r->without_uas = !strstr(log, "uas_") && !strstr(log, "uas-tag") && !strstr(log, ": uas");
}
