/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the measured disk: its conditions, its presence, the traffic on its bus, and its errors. */
#include "bench/measure/watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bench/measure/subject.h"
#include "common/util.h"
#include "core/trouble.h"
#include "sys/io/boot.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"
#include "sys/udev/udevdb.h"
#include "sys/usb/usbdisk.h"

#define SECTOR 512 /* bytes; unit of /sys/block for every disk */
#define RECORDS_MAX 4096

void conditions_machine(const struct roots *r, struct bench_conditions *c)
{
        char text[256];
        uint64_t kib;

        (void) attr_read(r->proc, "sys/kernel/osrelease", c->kernel, sizeof(c->kernel));
        if (attr_read(r->proc, "meminfo", text, sizeof(text)) > 0 && sscanf(text, "MemTotal: %" SCNu64, &kib) == 1)
                c->memory = kib * 1024;
}

void conditions_disk(const struct roots *r, const struct view *v, unsigned lun, struct bench_conditions *c)
{
        const struct facts *f = &v->disk.facts;
        _cleanup_(usb_disk_done) struct usb_disk d = {};
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
}

char *scheduler_chosen(const char *line, char *ret, size_t size)
{
        const char *from = strchr(line, '['), *to = from ? strchr(from, ']') : NULL;

        ret[0] = '\0';
        if (to && (size_t) (to - from) <= size)
                (void) copy_part(ret, size, from + 1, (size_t) (to - from - 1));
        return ret;
}

static void read_number(const struct roots *r, const char *block, const char *attribute, unsigned *ret)
{
        uint64_t v;

        if (attr_read_uint(r->sys, path_join("block/", block, attribute), 10, &v) >= 0)
                *ret = (unsigned) v;
}

void conditions_driver(const struct roots *r, const char *block, enum driver d, struct bench_conditions *c)
{
        struct bench_queue *q = &c->queues[d];
        unsigned rotational = c->rotational;
        char text[128];

        if (attr_read(r->sys, path_join("block/", block, "/queue/scheduler"), text, sizeof(text)) > 0)
                (void) scheduler_chosen(text, q->scheduler, sizeof(q->scheduler));
        read_number(r, block, "/device/queue_depth", &q->queue_depth);
        read_number(r, block, "/queue/nr_requests", &q->nr_requests);
        read_number(r, block, "/queue/rotational", &rotational);
        c->rotational = rotational != 0;
}

/* ---- its presence ---- */

bool subject_is_there(const struct subject *s)
{
        struct attachment_id now;

        return !s->interface ||
               (attachment_now(&s->context->client.roots, s->interface, &now) >= 0 && attachment_id_same(now, s->attachment));
}

bool subject_owns(const struct subject *s, int node)
{
        struct usb_disk d = {};
        bool owns = false;
        struct stat st;

        if (fstat(node, &st) < 0 || !subject_is_there(s) ||
            usb_disk_read(&s->context->client.roots, s->interface, false, &d) <= 0)
                return false;
        for (size_t i = 0; i < d.n_luns; i++) {
                const struct block *b = &d.luns[i].disk;

                if (d.luns[i].lun == s->lun && streq(b->name, s->block))
                        owns = !S_ISBLK(st.st_mode) || st.st_rdev == makedev(b->major, b->minor);
        }
        usb_disk_done(&d);
        return owns;
}

/* ---- traffic ---- */

int stat_bytes(const char *line, uint64_t *ret_read, uint64_t *ret_written)
{
        uint64_t in, out; /* sectors */

        /* reads, merged, sectors, ms, writes, merged, sectors, ... */
        if (sscanf(line, "%*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64, &in, &out) != 2)
                return -EINVAL;
        *ret_read = in * SECTOR;
        *ret_written = out * SECTOR;
        return 0;
}

/* Adds the disks of one interface to t. block: the measured LUN, or NULL for another interface. */
static void add_moved(const struct roots *r, const char *interface, const char *block, struct traffic *t)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {};
        uint64_t in, out;

        if (usb_disk_read(r, interface, false, &d) <= 0)
                return;
        for (size_t i = 0; i < d.n_luns; i++) {
                const char *name = d.luns[i].disk.name;
                char text[256];

                if (!name[0] || attr_read(r->sys, path_join("block/", name, "/stat"), text, sizeof(text)) <= 0 ||
                    stat_bytes(text, &in, &out) < 0)
                        continue;
                t->others += block ? 0 : in + out;
                t->read += block ? in : 0;
                t->written += block ? out : 0;
                if (block && streq(name, block)) {
                        t->lun_read = in;
                        t->lun_written = out;
                }
        }
}

void traffic_read(const struct roots *r, const char *interface, const char *block, struct traffic *ret)
{
        size_t bus = interface ? strcspn(interface, "-") + 1 : 0;
        _cleanup_strv_ char **all = NULL;

        *ret = (struct traffic){};
        if (!interface || usb_disk_enumerate(r, &all) < 0)
                return;
        for (char **i = all; i && *i; i++)
                if (strncmp(*i, interface, bus) == 0)
                        add_moved(r, *i, streq(*i, interface) ? block : NULL, ret);
        ret->known = true;
}

static uint64_t more(uint64_t after, uint64_t before)
{
        return after > before ? after - before : 0;
}

/* The bytes of our run. fio's own count leaves out the ramp, which has the same rate. The kernel's count for fio leaves out FUSE
 * file systems. */
static double ours(const struct bench_side *s, double charged, const struct bench_pattern *p, const struct bench_run *r)
{
        double ramp = r->runtime_usec > 0 ? (double) p->ramp_sec * USEC_PER_SEC / (double) r->runtime_usec : 0;
        double said = (double) s->bytes * (1 + ramp);

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

/* ---- errors ---- */

void errors_end(struct errors_watch *w)
{
        w->kmsg = close_keep_errno(w->kmsg);
}

int errors_begin(struct errors_watch *w, const struct roots *r, const char *interface, const char *block)
{
        _cleanup_(usb_disk_done) struct usb_disk d = {};
        int k;

        errors_end(w);
        *w = ERRORS_NULL;
        w->roots = r;
        (void) copy_string(w->block, sizeof(w->block), block);
        k = usb_disk_read(r, interface, false, &d);
        if (k <= 0)
                return k < 0 ? k : -ENODEV;
        w->facts = d.facts;
        (void) copy_string(w->host, sizeof(w->host), d.host);
        scsi_counts_read(r, block, &w->before);
        w->seen.counts_timeouts = w->before.known[SCSI_COUNT_TIMEOUTS];
        w->kmsg = openat(r->dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (w->kmsg >= 0 && lseek(w->kmsg, 0, SEEK_END) < 0) /* earlier records concern earlier events */
                w->kmsg = close_keep_errno(w->kmsg);
        return 0;
}

void errors_take_record(struct errors_watch *w, const struct kmsg *k)
{
        struct errors_seen *seen = &w->seen;
        struct sign s;
        size_t i = 0;

        /* Signs of a higher weight are no faults. */
        if (!sign_read(k, &s) || !sign_about(&s, &w->facts, w->host, &s) || s.weight > WEIGHT_FATAL)
                return;
        while (i < seen->n_signs && !streq(seen->signs[i].what, s.what))
                i++;
        if (i == ERRORS_SIGNS_MAX)
                return;
        if (i == seen->n_signs)
                seen->signs[seen->n_signs++] = (struct error_sign){s.what, s.blame, 0};
        seen->signs[i].n++;
}

bool errors_look(struct errors_watch *w, bool io_failed)
{
        char state[32];
        struct scsi_counts now;
        struct kmsg k;

        if (!w->roots)
                return false;
        for (unsigned i = 0; w->kmsg >= 0 && i < RECORDS_MAX && kmsg_next(w->kmsg, &k) > 0; i++)
                errors_take_record(w, &k);
        scsi_counts_read(w->roots, w->block, &now);
        w->seen.timeouts = more(now.value[SCSI_COUNT_TIMEOUTS], w->before.value[SCSI_COUNT_TIMEOUTS]);
        w->seen.failed = more(now.value[SCSI_COUNT_ERRORS], w->before.value[SCSI_COUNT_ERRORS]);
        w->seen.offline = attr_read(w->roots->sys, path_join("block/", w->block, "/device/state"), state, sizeof(state)) > 0 &&
                          streq(state, "offline");
        return errors_are_trouble(&w->seen, io_failed);
}

bool errors_are_trouble(const struct errors_seen *s, bool io_failed)
{
        if (s->timeouts > 0 || s->offline || s->n_signs > 0)
                return true;
        /* Other programs may send commands that the disk does not support. If the kernel does not count time-outs, this is the
         * only sign. */
        return s->failed > 0 && (io_failed || !s->counts_timeouts);
}

char *errors_text(const struct errors_seen *s, char ret[static ERRORS_TEXT_MAX])
{
        const char *blame = NULL;

        ret[0] = '\0';
        if (s->timeouts > 0)
                text_join(ret, ERRORS_TEXT_MAX, "%" PRIu64 " %s not answered in time", s->timeouts,
                          s->timeouts == 1 ? "command was" : "commands were");
        if (s->failed > 0)
                text_join(ret, ERRORS_TEXT_MAX, "%" PRIu64 " %s in an error", s->failed,
                          s->failed == 1 ? "command ended" : "commands ended");
        if (s->offline)
                text_join(ret, ERRORS_TEXT_MAX, "the kernel has given the disk up");
        for (size_t i = 0; i < s->n_signs; i++) {
                const char *before = i > 0 ? ", " : *ret ? "; the kernel's log: " : "the kernel's log: ";

                text_add(ret, ERRORS_TEXT_MAX, "%s%s", before, s->signs[i].what);
                if (s->signs[i].n > 1)
                        text_add(ret, ERRORS_TEXT_MAX, " (%u times)", s->signs[i].n);
                if (s->signs[i].blame != BLAME_NONE && s->signs[i].blame != BLAME_BRIDGE)
                        blame = blame_sentence(s->signs[i].blame);
        }
        if (blame)
                text_add(ret, ERRORS_TEXT_MAX, "; to blame is perhaps %s", blame);
        return ret;
}
