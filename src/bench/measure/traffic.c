/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/traffic.h"

#include <fcntl.h>
#include <inttypes.h>

#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/usb/usbdisk.h"

#define SECTOR 512 /* bytes; unit of /sys/block for every disk */

int stat_bytes(const char *line, uint64_t *ret_read, uint64_t *ret_written)
{
        uint64_t sectors_read, sectors_written;

        /* reads, merged, sectors, ms, writes, merged, sectors, ... */
        if (sscanf(line, "%*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64, &sectors_read, &sectors_written) != 2)
                return -EINVAL;
        *ret_read = sectors_read * SECTOR;
        *ret_written = sectors_written * SECTOR;
        return 0;
}

/* All disks of one interface together. */
static void moved(const struct roots *r, const char *interface, const char *block, struct traffic *t)
{
        struct usb_disk d = {};
        uint64_t in, out;

        if (usb_disk_read(r, interface, false, &d) <= 0)
                return;
        for (size_t i = 0; i < d.n_luns; i++) {
                char path[BLOCK_NAME_MAX + 16], text[256];
                const char *name = d.luns[i].disk.name;

                (void) snprintf(path, sizeof(path), "block/%s/stat", name);
                if (!name[0] || attr_read(r->sys, path, text, sizeof(text)) <= 0 || stat_bytes(text, &in, &out) < 0)
                        continue;
                t->read += in;
                t->written += out;
                if (block && streq(name, block)) {
                        t->lun_read = in;
                        t->lun_written = out;
                }
        }
        usb_disk_done(&d);
}

void traffic_read(const struct roots *r, const char *interface, const char *block, struct traffic *ret)
{
        char **all = NULL;
        size_t bus;

        *ret = (struct traffic){};
        if (!interface || usb_disk_enumerate(r, &all) < 0)
                return;
        bus = strcspn(interface, "-") + 1;
        for (char **i = all; i && *i; i++) {
                struct traffic one = {};

                if (strncmp(*i, interface, bus) != 0)
                        continue;
                moved(r, *i, block, &one);
                if (streq(*i, interface)) {
                        ret->read = one.read;
                        ret->written = one.written;
                        ret->lun_read = one.lun_read;
                        ret->lun_written = one.lun_written;
                } else
                        ret->others += one.read + one.written;
        }
        ret->known = true;
        strv_free(all);
}

bool traffic_is_counted(const struct roots *r)
{
        return faccessat(r->proc, "self/io", F_OK, 0) == 0;
}

static uint64_t more(uint64_t after, uint64_t before)
{
        return after > before ? after - before : 0;
}

/* The bytes of our run. fio's own count leaves out the ramp. The kernel's count for fio leaves out FUSE file systems. */
static double ours(const struct bench_side *s, double charged, const struct bench_pattern *p, const struct bench_run *r)
{
        double said = (double) s->bytes * bench_with_ramp(p, r);

        return charged > said ? charged : said;
}

void traffic_tell(const struct traffic *before, const struct traffic *after, const struct bench_pattern *p, uint64_t usec,
                  struct bench_run *r)
{
        double read = (double) more(after->read, before->read), written = (double) more(after->written, before->written);
        double lun_read = (double) more(after->lun_read, before->lun_read);
        double lun_written = (double) more(after->lun_written, before->lun_written), others;

        r->other_bytes_per_sec = -1;
        if (!before->known || !after->known || usec == 0)
                return;
        read -= ours(&r->read, r->device_read_bytes, p, r);
        written -= ours(&r->write, r->device_written_bytes, p, r);
        others = (double) more(after->others, before->others) + (read > 0 ? read : 0);
        /* The kernel writes dirty pages at any time, so these bytes cannot be attributed. */
        if (p->direct || !bench_pattern_writes(p))
                others += written > 0 ? written : 0;
        r->other_bytes_per_sec = others * (double) USEC_PER_SEC / (double) usec;
        /* A file system in its own process reads and writes for fio. */
        if (r->device_read_bytes >= 0 && lun_read > r->device_read_bytes)
                r->device_read_bytes = lun_read;
        if (r->device_written_bytes >= 0 && lun_written > r->device_written_bytes)
                r->device_written_bytes = lun_written;
}
