/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"
#include "sys/udev/bridgedb.h"

#include "client/source.h"
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

int verb_db(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        char platform[PLATFORM_MAX];
        const struct view *v;
        struct db_entry entry;
        const struct facts *f;
        int code, k = 0;

        code = source_local_disk(&c->client, args[0], &views, &v);
        if (code != UASD_EXIT_OK)
                return code;
        f = &v->disk.facts;
        (void) bridgedb_read(&c->client.roots, f->port, &entry);
        platform_read(&c->client.roots, platform);
        if (c->options->json)
                json_print(json_disk_with(v, "database", json_database(&entry, f->bcd, platform)));
        else
                k = print_text(c, f, &entry, platform);
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
