/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/openmetrics.h"

#include <inttypes.h>

#include "common/util.h"

static void write_value(FILE *out, const char *value)
{
        char harmless[2048]; /* no newline and valid UTF-8, which both formats demand */

        for (const char *s = make_harmless(value, harmless, sizeof(harmless)); *s; s++)
                (void) fprintf(out, *s == '\\' || *s == '"' ? "\\%c" : "%c", *s);
}

static void begin(struct metrics_writer *w, const struct metric_family *f)
{
        if (w->family && streq(w->family, f->name))
                return;
        w->family = f->name;
        (void) fprintf(w->out, "# HELP %s %s\n", f->name, f->help);
        if (!f->counter || w->prometheus)
                (void) fprintf(w->out, "# TYPE %s %s\n", f->name, f->counter ? "counter" : "gauge");
}

void metrics_sample(struct metrics_writer *w, const struct metric_family *f, uint64_t value, const struct metric_label *labels)
{
        begin(w, f);
        (void) fputs(f->name, w->out);
        for (const struct metric_label *l = labels; l && l->name; l++) {
                (void) fprintf(w->out, "%s%s=\"", l == labels ? "{" : ",", l->name);
                write_value(w->out, l->value ?: "");
                (void) fputc('"', w->out);
        }
        (void) fprintf(w->out, "%s %" PRIu64 "\n", labels && labels->name ? "}" : "", value);
}

void metrics_end(struct metrics_writer *w)
{
        (void) fputs("# EOF\n", w->out); /* a comment to Prometheus */
}
