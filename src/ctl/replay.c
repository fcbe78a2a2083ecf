/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "common/log.h"
#include "ctl/facts-block.h"
#include "ctl/output.h"
#include "ctl/report.h"
#include "term/pager.h"

/* A whole file, or as much as a report may have and a byte more. */
static int read_report(const char *path, char **ret, size_t *ret_size)
{
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        _cleanup_free_ char *text = NULL;
        ssize_t n;

        if (fd < 0)
                return -errno;
        text = malloc(FACTS_BLOCK_TEXT_MAX + 1);
        if (!text)
                return -ENOMEM;
        n = read_full(fd, text, FACTS_BLOCK_TEXT_MAX + 1);
        if (n < 0)
                return (int) n;
        *ret = TAKE_PTR(text);
        *ret_size = (size_t) n;
        return 0;
}

static void decision_text(const struct recorded_decision *d, char *ret, size_t size)
{
        (void) snprintf(ret, size, "%s, driver %s, then %s", d->reason, d->target, d->rest);
}

static int print_disk(const struct ctl *c, const struct recorded *r)
{
        const struct view v = {.disk.facts = r->facts};
        const struct facts *f = &v.disk.facts;
        struct explain_row rows[_REASON_MAX];
        struct recorded_decision here;
        char text[256], product[2 * USB_STRING_MAX];
        size_t n = explain(f, rows, ELEMENTSOF(rows));
        int k;

        putchar('\n');
        output_field("Disk", f->interface);
        output_field("Product", view_product(&v, product, sizeof(product)));
        (void) snprintf(text, sizeof(text), "%04x:%04x, firmware %x.%02x", f->vid, f->pid, f->bcd >> 8, f->bcd & 0xff);
        output_field("Bridge", text);
        if (r->missing > 0) {
                (void) snprintf(text, sizeof(text), "%zu facts are not in the report; here they are taken for nothing", r->missing);
                output_field("Missing", text);
        }
        putchar('\n');
        k = output_rows(rows, n, c->options->legend);
        if (k < 0)
                return k;
        output_decision(rows, n, NULL, f->interface);
        putchar('\n');
        recorded_decide(f, &here);
        decision_text(&here, text, sizeof(text));
        output_field("Here", text);
        decision_text(&r->decision, text, sizeof(text));
        output_field("There", text);
        output_field("", recorded_same(&here, &r->decision) ? "the same" : "this version decides otherwise");
        return 0;
}

int report_replay(const struct ctl *c, const char *file)
{
        _cleanup_(facts_block_done) struct facts_block block = {};
        _cleanup_free_ char *text = NULL;
        char why[FACTS_BLOCK_WHY_MAX];
        size_t size = 0;
        int k = read_report(file, &text, &size);

        if (k < 0) {
                log_error("Cannot read '%s': %s", file, strerror(-k));
                return UASD_EXIT_FAILED;
        }
        k = facts_block_read(text, size, &block, why);
        if (k == -ENOENT)
                log_error("'%s' is no report of uasctl, or an old one: it has no line %s", file, FACTS_BLOCK_BEGIN);
        else if (k < 0)
                log_error("Of the report '%s' the facts cannot be read: %s.", file, *why ? why : strerror(-k));
        if (k < 0)
                return UASD_EXIT_FAILED;
        pager_open(c->options->pager);
        output_field("There", block.version);
        output_field("Here", UASD_VERSION);
        for (size_t i = 0; i < block.n && k >= 0; i++)
                k = print_disk(c, &block.disks[i]);
        if (block.n == 0)
                log_info("There was no USB disk.");
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
