/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/conditions.h"

#include <inttypes.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/udev/bridgedb.h"
#include "sys/usb/usbdisk.h"

static uint64_t read_memory(const struct roots *r)
{
        char text[256];
        uint64_t kib;

        if (attr_read(r->proc, "meminfo", text, sizeof(text)) < 0 || sscanf(text, "MemTotal: %" SCNu64, &kib) != 1)
                return 0;
        return kib * 1024;
}

void conditions_machine(const struct roots *r, struct bench_conditions *c)
{
        (void) attr_read(r->proc, "sys/kernel/osrelease", c->kernel, sizeof(c->kernel));
        c->memory = read_memory(r);
}

void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c)
{
        const struct facts *f = &v->disk.facts;
        struct usb_disk d = {};
        struct db_entry e = {};

        (void) view_product(v, c->model, sizeof(c->model));
        (void) copy_string(c->serial, sizeof(c->serial), f->serial);
        (void) bridgedb_read(r, f->port, &e);
        (void) snprintf(c->bridge, sizeof(c->bridge), "%04x:%04x%s%s", f->vid, f->pid, e.chip[0] ? " " : "", e.chip);
        (void) snprintf(c->firmware, sizeof(c->firmware), "%x.%02x", f->bcd >> 8, f->bcd & 0xffU);
        c->speed_mbps = f->speed_mbps;
        for (size_t i = 0; i < v->disk.n_luns; i++)
                if (v->disk.luns[i].lun == lun)
                        c->disk_size = v->disk.luns[i].size;
        /* The daemon does not report these. */
        if (usb_disk_read(r, f->interface, false, &d) <= 0)
                return;
        f = &d.facts;
        (void) snprintf(c->controller, sizeof(c->controller), "%s%s%s", f->controller,
                        f->controller[0] && f->controller_device[0] ? " " : "", f->controller_device);
        usb_disk_done(&d);
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
        struct bench_queue *q = &c->queues[d];
        char path[BLOCK_NAME_MAX + 32], text[128];
        uint64_t v;

        (void) snprintf(path, sizeof(path), "block/%s/queue/scheduler", block);
        if (attr_read(r->sys, path, text, sizeof(text)) > 0)
                (void) scheduler_chosen(text, q->scheduler, sizeof(q->scheduler));
        (void) snprintf(path, sizeof(path), "block/%s/device/queue_depth", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                q->queue_depth = (unsigned) v;
        (void) snprintf(path, sizeof(path), "block/%s/queue/nr_requests", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                q->nr_requests = (unsigned) v;
        (void) snprintf(path, sizeof(path), "block/%s/queue/rotational", block);
        if (attr_read_uint(r->sys, path, 10, &v) >= 0)
                c->rotational = v != 0;
}
