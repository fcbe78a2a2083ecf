/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"
#include "sys/udev/bridgedb.h"

#include "ctl/output.h"
#include "ctl/schema.h"
#include "term/pager.h"

static const char *why(const struct db_entry *e, const struct db_word *w)
{
        if (e->ruled)
                return "A local rule or hwdb file says so (UASD_VERDICT), and that goes before all statements.";
        if (w->conflict)
                return "The sources contradict each other.";
        if (w->kernel_alone)
                return "The kernel's own table says so, and nobody else.";
        if (e->n_says == 0)
                return "The database did not know this bridge when it was plugged in.";
        return w->verdict == VERDICT_UNKNOWN ? "No statement settles it for this firmware and host."
                                             : "All that holds for this firmware and host says so.";
}

static int print_text(const struct ctl *c, const struct facts *f, const struct db_entry *e, const char *platform)
{
        struct db_word word;
        char text[64];

        pager_open(c->options->pager);
        db_weigh(e, f->bcd, platform, &word);
        (void) snprintf(text, sizeof(text), "%04x:%04x, firmware %x.%02x", f->vid, f->pid, f->bcd >> 8, f->bcd & 0xff);
        output_field("Bridge", text);
        output_field("Chip", e->chip);
        output_field("Host", platform);
        output_field("Verdict", verdict_to_string(word.verdict));
        output_sentence("Reason", why(e, &word));
        if (e->n_says == 0)
                return 0;
        putchar('\n');
        return output_says(e, f->bcd, platform, c->options->legend);
}

int verb_db(struct ctl *c, char **args)
{
        const struct facts *f = &c->v->disk.facts;
        char platform[PLATFORM_MAX];
        struct db_entry entry;

        (void) bridgedb_read(&c->client.roots, f->port, &entry);
        platform_read(&c->client.roots, platform);
        if (!c->options->json)
                return print_text(c, f, &entry, platform) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
        json_print(json_disk_with(c->v, "database", json_database(&entry, f->bcd, platform)));
        return UASD_EXIT_OK;
}
