/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/report.h"

#include "ctl/events.h"
#include "ctl/output.h"

#define HOSTS_MAX 1024

struct kernel_search {
        const struct views *views;
        struct kernel_log *log;
        bool hosts[HOSTS_MAX]; /* of usb-storage or uas; a switched disk had others before */
};

/* Parses "+scsi:host3", "+scsi:target3:0:0", "+scsi:3:0:0:0" or "host3". */
static bool host_of(const char *name, unsigned *ret)
{
        return sscanf(name, "+scsi:host%u", ret) == 1 || sscanf(name, "+scsi:target%u", ret) == 1 ||
               sscanf(name, "+scsi:%u", ret) == 1 || sscanf(name, "host%u", ret) == 1;
}

/* Lines "scsi host3: uas" and "scsi host3: usb-storage 2-1:1.0". The messages of uas do not name the disk. */
static void note_host(struct kernel_search *s, const char *text)
{
        unsigned host;
        char driver[16];

        if (sscanf(text, "scsi host%u: %15s", &host, driver) == 2 && host < HOSTS_MAX &&
            (streq(driver, "uas") || streq(driver, "usb-storage")))
                s->hosts[host] = true;
}

static bool is_about(const struct kernel_search *s, const char *device, const char *text)
{
        unsigned host;

        if (host_of(device, &host))
                return host < HOSTS_MAX && s->hosts[host];
        for (size_t i = 0; i < s->views->n; i++) {
                const struct facts *f = &s->views->list[i].disk.facts;
                size_t n = strlen(f->port);

                if (strncmp(device, "+usb:", 5) == 0 && streq(device + 5, f->interface))
                        return true;
                /* Its number, c189:MINOR, was different at an earlier plug. */
                if (strncmp(text, "usb ", 4) == 0 && strncmp(text + 4, f->port, n) == 0 && text[4 + n] == ':')
                        return true;
        }
        return false;
}

static void add(struct kernel_log *l, uint64_t usec, char *text)
{
        if (l->n == KERNEL_LINES_MAX) {
                free(l->lines[0].text);
                memmove(l->lines, l->lines + 1, --l->n * sizeof(*l->lines));
        }
        l->lines[l->n++] = (struct kernel_line){.usec = usec, .text = text};
}

static void take_entry(sd_journal *j, void *data)
{
        struct kernel_search *s = data;
        _cleanup_free_ char *device = NULL, *text = NULL;
        uint64_t usec = 0;

        device = journal_value(j, "_KERNEL_DEVICE");
        text = journal_value(j, "MESSAGE");
        if (!device || !text)
                return;
        note_host(s, text);
        if (!is_about(s, device, text))
                return;
        (void) sd_journal_get_realtime_usec(j, &usec);
        add(s->log, usec, TAKE_PTR(text));
}

int kernel_log_read(const struct ctl *c, const struct views *v, struct kernel_log *ret)
{
        _cleanup_(journal_closep) sd_journal *j = NULL;
        struct kernel_search s = {.views = v, .log = ret};
        char boot[SD_ID128_STRING_MAX];
        unsigned host;
        int r = journal_open(c->root, &j);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (size_t i = 0; i < v->n; i++)
                if (host_of(v->list[i].disk.host, &host) && host < HOSTS_MAX)
                        s.hosts[host] = true;
        /* Host numbers are valid only in one boot. */
        r = journal_boot(&c->client.roots, boot);
        if (r >= 0)
                r = journal_match(j, "_BOOT_ID", boot);
        if (r >= 0)
                r = journal_match(j, "_TRANSPORT", "kernel");
        if (r >= 0)
                r = journal_match(j, "_KERNEL_SUBSYSTEM", "usb");
        if (r >= 0)
                r = journal_match(j, "_KERNEL_SUBSYSTEM", "scsi");
        if (r >= 0)
                r = sd_journal_seek_head(j);
        return r < 0 ? r : journal_each(j, take_entry, &s);
}

void kernel_log_done(struct kernel_log *l)
{
        for (size_t i = 0; i < l->n; i++)
                free(l->lines[i].text);
        l->n = 0;
}
