/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/errors.h"

#include <fcntl.h>
#include <inttypes.h>

#include "bench/bench.h"
#include "common/util.h"
#include "core/trouble.h"
#include "sys/io/kernel-log.h"
#include "sys/io/sysfs.h"
#include "sys/usb/usbdisk.h"

#define RECORDS_MAX 4096

void errors_end(struct errors_watch *w)
{
        w->kmsg = close_keep_errno(w->kmsg);
}

int errors_begin(struct errors_watch *w, const struct roots *r, const char *interface, const char *block)
{
        struct usb_disk d = {};
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
        usb_disk_done(&d);
        scsi_counts_read(r, block, &w->before);
        w->seen.counts_timeouts = w->before.known[SCSI_COUNT_TIMEOUTS];
        w->kmsg = openat(r->dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (w->kmsg >= 0 && lseek(w->kmsg, 0, SEEK_END) < 0) /* earlier records concern earlier events */
                w->kmsg = close_keep_errno(w->kmsg);
        return 0;
}

static void count_sign(struct errors_seen *s, const struct sign *sign)
{
        size_t i = 0;

        while (i < s->n_signs && !streq(s->signs[i].what, sign->what))
                i++;
        if (i == ERRORS_SIGNS_MAX)
                return;
        if (i == s->n_signs) {
                s->signs[i].what = sign->what;
                s->signs[i].blame = sign->blame;
                s->signs[i].n = 0;
                s->n_signs++;
        }
        s->signs[i].n++;
}

void errors_take_record(struct errors_watch *w, const struct kmsg *k)
{
        struct sign s;

        if (!sign_read(k, &s) || !sign_is_about(&s, &w->facts, w->host))
                return;
        if (s.weight <= WEIGHT_FATAL) /* the others are no faults */
                count_sign(&w->seen, &s);
}

static uint64_t more(const struct scsi_counts *now, const struct scsi_counts *before, enum scsi_count which)
{
        return now->value[which] > before->value[which] ? now->value[which] - before->value[which] : 0;
}

bool errors_look(struct errors_watch *w, bool io_failed)
{
        char path[BLOCK_NAME_MAX + 32], state[32];
        struct scsi_counts now;
        struct kmsg k;

        if (!w->roots)
                return false;
        for (unsigned i = 0; w->kmsg >= 0 && i < RECORDS_MAX && kmsg_next(w->kmsg, &k) > 0; i++)
                errors_take_record(w, &k);
        scsi_counts_read(w->roots, w->block, &now);
        w->seen.timeouts = more(&now, &w->before, SCSI_COUNT_TIMEOUTS);
        w->seen.failed = more(&now, &w->before, SCSI_COUNT_ERRORS);
        (void) snprintf(path, sizeof(path), "block/%s/device/state", w->block);
        w->seen.offline = attr_read(w->roots->sys, path, state, sizeof(state)) > 0 && streq(state, "offline");
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

static void add_counts(char t[static ERRORS_TEXT_MAX], const struct errors_seen *s)
{
        if (s->timeouts > 0)
                text_join(t, ERRORS_TEXT_MAX, "%" PRIu64 " %s not answered in time", s->timeouts,
                          s->timeouts == 1 ? "command was" : "commands were");
        if (s->failed > 0)
                text_join(t, ERRORS_TEXT_MAX, "%" PRIu64 " %s in an error", s->failed,
                          s->failed == 1 ? "command ended" : "commands ended");
        if (s->offline)
                text_join(t, ERRORS_TEXT_MAX, "the kernel has given the disk up");
}

static void add_signs(char t[static ERRORS_TEXT_MAX], const struct errors_seen *s)
{
        const char *blame = NULL;

        for (size_t i = 0; i < s->n_signs; i++) {
                const char *before = i > 0 ? ", " : *t ? "; the kernel's log: " : "the kernel's log: ";

                text_add(t, ERRORS_TEXT_MAX, "%s%s", before, s->signs[i].what);
                if (s->signs[i].n > 1)
                        text_add(t, ERRORS_TEXT_MAX, " (%u times)", s->signs[i].n);
                if (s->signs[i].blame != BLAME_NONE && s->signs[i].blame != BLAME_BRIDGE)
                        blame = blame_sentence(s->signs[i].blame);
        }
        if (blame)
                text_add(t, ERRORS_TEXT_MAX, "; to blame is perhaps %s", blame);
}

char *errors_text(const struct errors_seen *s, char ret[static ERRORS_TEXT_MAX])
{
        ret[0] = '\0';
        add_counts(ret, s);
        add_signs(ret, s);
        return ret;
}
