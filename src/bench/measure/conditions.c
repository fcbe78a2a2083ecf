/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/conditions.h"

#include <inttypes.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/udev/bridgedb.h"
#include "sys/usb/usbdisk.h"

static int copy(char **ret, const char *s)
{
        char *copied;

        if (isempty(s))
                return 0;
        copied = strdup(s);
        if (!copied)
                return -ENOMEM;
        free(*ret);
        *ret = copied;
        return 0;
}

static uint64_t read_memory(const struct roots *r)
{
        char text[256];
        uint64_t kib;

        if (attr_read(r->proc, "meminfo", text, sizeof(text)) < 0 || sscanf(text, "MemTotal: %" SCNu64, &kib) != 1)
                return 0;
        return kib * 1024;
}

int conditions_machine(const struct roots *r, const char *fio, struct bench_conditions *c)
{
        char text[128];
        int k;

        k = copy(&c->fio, fio);
        if (k >= 0 && attr_read(r->proc, "sys/kernel/osrelease", text, sizeof(text)) > 0)
                k = copy(&c->kernel, text);
        c->memory = read_memory(r);
        return k;
}

static int describe_bridge(const struct roots *r, const struct facts *f, struct bench_conditions *c)
{
        struct db_entry e;
        char text[128];
        int k;

        if (bridgedb_read(r, f->port, &e) > 0 && e.chip[0])
                (void) snprintf(text, sizeof(text), "%04x:%04x %s", f->vid, f->pid, e.chip);
        else
                (void) snprintf(text, sizeof(text), "%04x:%04x", f->vid, f->pid);
        k = copy(&c->bridge, text);
        if (k < 0)
                return k;
        (void) snprintf(text, sizeof(text), "%x.%02x", f->bcd >> 8, f->bcd & 0xffU);
        return copy(&c->firmware, text);
}

static int describe_controller(const struct facts *f, struct bench_conditions *c)
{
        char text[sizeof(f->controller) + sizeof(f->controller_device) + 1];

        (void) snprintf(text, sizeof(text), "%s%s%s", f->controller, f->controller[0] && f->controller_device[0] ? " " : "",
                        f->controller_device);
        return copy(&c->controller, text);
}

int conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c)
{
        const struct facts *f = &v->disk.facts;
        char product[2 * USB_STRING_MAX];
        struct usb_disk d = {};
        int k;

        k = copy(&c->model, view_product(v, product, sizeof(product)));
        if (k >= 0)
                k = copy(&c->serial, f->serial);
        if (k >= 0)
                k = describe_bridge(r, f, c);
        if (k < 0)
                return k;
        c->speed_mbps = f->speed_mbps;
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (v->disk.luns[i].lun == lun)
                        c->disk_size = v->disk.luns[i].size;
        /* Of these the daemon does not tell. */
        if (usb_disk_read(r, f->interface, false, &d) > 0) {
                k = describe_controller(&d.facts, c);
                usb_disk_done(&d);
        }
        return k;
}

char *scheduler_chosen(const char *line, char *ret, size_t size)
{
        const char *from = strchr(line, '['), *to = from ? strchr(from, ']') : NULL;

        ret[0] = '\0';
        if (to && (size_t) (to - from) <= size)
                (void) snprintf(ret, size, "%.*s", (int) (to - from - 1), from + 1);
        return ret;
}

void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c)
{
        char path[BLOCK_NAME_MAX + 32], text[128], name[64];
        uint64_t v;

        (void) snprintf(path, sizeof(path), "block/%s/queue/scheduler", block);
        if (attr_read(r->sys, path, text, sizeof(text)) > 0)
                (void) copy(&c->queues[d].scheduler, scheduler_chosen(text, name, sizeof(name)));
        (void) snprintf(path, sizeof(path), "block/%s/device/queue_depth", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                c->queues[d].queue_depth = (unsigned) v;
        (void) snprintf(path, sizeof(path), "block/%s/queue/nr_requests", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                c->queues[d].nr_requests = (unsigned) v;
        (void) snprintf(path, sizeof(path), "block/%s/queue/rotational", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                c->rotational = v != 0;
}
