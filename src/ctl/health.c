/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/health.h"

#include <inttypes.h>

#include "common/util.h"
#include "ctl/output.h"
#include "sys/link.h"

int health_read(const struct roots *r, const struct view *v, struct health *ret)
{
        struct health h = {.luns = calloc(v->disk.n_luns + 1, sizeof(*h.luns))};

        if (!h.luns)
                return -ENOMEM;
        link_read(r, &v->disk.facts, &h.link);
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                struct lun_health *l = h.luns + h.n_luns;

                if (!v->disk.luns[i].disk.name[0])
                        continue;
                l->lun = v->disk.luns + i;
                scsi_counts_read(r, l->lun->disk.name, &l->counts);
                h.n_luns++;
        }
        *ret = h;
        return 0;
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
        n = snprintf(text, sizeof(text), "%s: %" PRIu64 " since it came to this driver", l->lun->disk.name, c->value[SCSI_COUNT_REQUESTS]);
        if (c->known[SCSI_COUNT_ERRORS])
                n += snprintf(text + n, sizeof(text) - (size_t) n, "; %" PRIu64 " failed", c->value[SCSI_COUNT_ERRORS]);
        if (c->known[SCSI_COUNT_TIMEOUTS])
                (void) snprintf(text + n, sizeof(text) - (size_t) n, ", %" PRIu64 " ran out of time", c->value[SCSI_COUNT_TIMEOUTS]);
        output_field(key, text);
}

void health_print(const struct health *h)
{
        char advice[512];

        for (size_t i = 0; i < h->n_luns; i++)
                print_commands(i == 0 ? "Commands" : "", h->luns + i);
        output_sentence("Advice", link_advice(&h->link, advice, sizeof(advice)));
}
