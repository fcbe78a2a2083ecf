/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/health.h"

#include <inttypes.h>

#include "common/util.h"
#include "ctl/output.h"
#include "sys/state/trims.h"
#include "sys/usb/link.h"
#include "sys/usb/usbdisk.h"
#include "term/program.h"

void health_read(const struct roots *r, const struct view *v, struct health *ret)
{
        struct health h = {.luns = need(calloc(v->disk.n_luns + 1, sizeof(*h.luns)))};
        _cleanup_(usb_disk_done) struct usb_disk u = {};
        const struct facts *f = &v->disk.facts;

        /* What is kept of a disk may be known by its port and controller, which the daemon does not tell. */
        if (usb_disk_read(r, f->interface, true, &u) > 0)
                f = &u.facts;
        link_read(r, &v->disk.facts, &h.link);
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                struct lun_health *l = h.luns + h.n_luns;
                uint64_t max;

                if (!v->disk.luns[i].disk.name[0])
                        continue;
                l->lun = v->disk.luns + i;
                scsi_counts_read(r, l->lun->disk.name, &l->counts);
                trim_read(r, l->lun->disk.name, &l->trim);
                l->trim.kept = trims_lookup(r, f, l->lun->lun, &max) > 0;
                h.n_luns++;
        }
        *ret = h;
}

void health_ask(const struct roots *r, const char *root, const struct view *v, struct health *h)
{
        for (size_t i = 0; i < h->n_luns; i++) {
                struct lun_health *l = h->luns + i;

                /* What sd has not taken up is a card reader's empty slot or a CD-ROM; what hangs once is not
                 * asked of its next LUN. */
                if (l->trim.mode[0] && (i == 0 || !h->luns[i - 1].smart.told || !h->luns[i - 1].smart.why_not))
                        smart_ask(r, root, v, l->lun->disk.name, l->counts.value[SCSI_COUNT_TIMEOUTS] > 0, &l->smart);
        }
}

void health_done(struct health *h)
{
        free(h->luns);
        *h = (struct health){};
}

/* "sda: 4660 since it came to this driver; 5 failed, 3 ran out of time" */
static void print_commands(const char *key, const struct lun_health *l)
{
        const struct scsi_counts *c = &l->counts;
        char text[256];
        int n;

        if (!c->known[SCSI_COUNT_REQUESTS])
                return;
        n = snprintf(text, sizeof(text), "%s: %" PRIu64 " since it came to this driver", l->lun->disk.name,
                     c->value[SCSI_COUNT_REQUESTS]);
        if (c->known[SCSI_COUNT_ERRORS])
                n += snprintf(text + n, sizeof(text) - (size_t) n, "; %" PRIu64 " failed", c->value[SCSI_COUNT_ERRORS]);
        if (c->known[SCSI_COUNT_TIMEOUTS])
                (void) snprintf(text + n, sizeof(text) - (size_t) n, ", %" PRIu64 " ran out of time",
                                c->value[SCSI_COUNT_TIMEOUTS]);
        output_field(key, text);
}

void health_print_trim(const struct health *h, const struct view *v)
{
        bool first = true;

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct lun_health *l = h->luns + i;
                char sentence[256], named[320], text[400];

                if (!l->trim.mode[0] && l->trim.used_bytes == 0)
                        continue;
                (void) output_named(trim_sentence(&l->trim, v->disk.facts.driver, sentence, sizeof(sentence)),
                                    v->disk.facts.interface, named, sizeof(named));
                (void) snprintf(text, sizeof(text), "%s: %s.", l->lun->disk.name, named);
                output_sentence(first ? "TRIM" : "", text);
                first = false;
        }
}

static void print_smart(const struct lun_health *l)
{
        char sentence[256], text[320];

        if (!l->smart.told)
                return;
        (void) snprintf(text, sizeof(text), "%s: %s", l->lun->disk.name,
                        smart_sentence(&l->smart, l->lun->disk.name, sentence, sizeof(sentence)));
        output_sentence("SMART", text);
}

void health_print(const struct health *h, const struct view *v)
{
        char advice[512];

        for (size_t i = 0; i < h->n_luns; i++)
                print_commands(i == 0 ? "Commands" : "", h->luns + i);
        health_print_trim(h, v);
        for (size_t i = 0; i < h->n_luns; i++)
                print_smart(h->luns + i);
        output_sentence("Advice", link_advice(&h->link, advice, sizeof(advice)));
}
