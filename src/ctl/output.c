/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include <time.h>

#include "common/util.h"
#include "term/fold.h"
#include "term/program.h"
#include "term/table.h"

/* Four characters for each byte that is not harmless. */
#define HARMLESS(s, size) make_harmless(s, (char[4 * (size) + 1]){}, 4 * (size) + 1)

#define SENTENCE(s) harmless_sentence(s, (char[2048]){}, 2048)

const char *sgr_of_state(enum state s)
{
        switch (s) {
        case STATE_SETTLED:
                return SGR_GREEN;
        case STATE_HELD:
        case STATE_WAITING:
        case STATE_SWITCHING:
        case STATE_TRIAL:
                return SGR_YELLOW;
        case STATE_FAILED:
        case STATE_UNBOUND:
                return SGR_RED;
        case STATE_IGNORED:
        case STATE_INCAPABLE:
                return SGR_DIM;
        case _STATE_MAX:
                break;
        }
        return "";
}

#define ROW_FOUND 3 /* the column */
static const struct table_column row_columns[] = {{""}, {"ROW"}, {"FITS"}, {"FOUND", SCOLS_FL_WRAP}};

/* The width that the columns before it leave; 0: no limit, or too narrow for a word. */
static unsigned found_room(const struct explain_row *rows, size_t n)
{
        size_t used = 0;

        for (size_t i = 0; i < n; i++)
                if (strlen(reason_to_string(rows[i].reason)) > used)
                        used = strlen(reason_to_string(rows[i].reason));
        used += strlen("-> ") + strlen(" FITS ");
        return style_width() > used + 20 ? style_width() - (unsigned) used : 0;
}

int output_rows(const struct explain_row *rows, size_t n, bool legend)
{
        struct libscols_table *t = table_new(row_columns, ELEMENTSOF(row_columns), legend);
        unsigned room = found_room(rows, n);
        int r = room ? fold_column(scols_table_get_column(t, ROW_FOUND)) : 0;

        for (size_t i = 0; i < n; i++) {
                const struct explain_row *row = &rows[i];
                _cleanup_free_ char *found = need(fold(SENTENCE(row->found), room));
                struct libscols_line *line =
                        table_row(t, NULL,
                                  (const char *const[]){!row->decides  ? ""
                                                        : style_utf8() ? "→"
                                                                       : "->",
                                                        reason_to_string(row->reason), row->fits ? "yes" : "no", found});

                if (row->decides)
                        (void) scols_line_set_color(line, SGR_BOLD);
        }
        return table_print(t, r);
}

static const struct table_column says_columns[] = {
        {"HOLDS"}, {"VERDICT"}, {"FIRMWARE"}, {"HOST"}, {"SOURCE"}, {"DATE"}, {"NOTE", SCOLS_FL_WRAP},
};

static void add_says(struct libscols_table *t, const struct db_says *s, int bcd, const char *platform)
{
        const char *holds = bcd >= 0 && !db_firmware_fits(s, (uint16_t) bcd) ? "other firmware"
                            : !db_host_fits(s, platform)                     ? "other host"
                            : bcd < 0 && !db_any_firmware(s)                 ? "some firmware"
                                                                             : "yes";
        char range[16] = "any";

        if (!db_any_firmware(s))
                (void) snprintf(range, sizeof(range), "%x.%02x-%x.%02x", s->bcd_min >> 8, s->bcd_min & 0xff, s->bcd_max >> 8,
                                s->bcd_max & 0xff);
        (void) table_row(t, NULL,
                         (const char *const[]){holds, verdict_to_string(s->verdict), range,
                                               streq(s->host, "*") ? "any" : HARMLESS(s->host, sizeof(s->host)),
                                               HARMLESS(s->source, sizeof(s->source)), HARMLESS(s->date, sizeof(s->date)),
                                               HARMLESS(s->note, sizeof(s->note))});
}

int output_says(const struct db_entry *e, int bcd, const char *platform, bool legend)
{
        struct libscols_table *t = table_new(says_columns, ELEMENTSOF(says_columns), legend);

        for (size_t i = 0; i < e->n_says; i++)
                add_says(t, &e->says[i], bcd, platform);
        return table_print(t, 0);
}

void output_field(const char *key, const char *value)
{
        if (!isempty(value))
                printf("%10s%s %s\n", key, *key ? ":" : " ", HARMLESS(value, 1024));
}

void output_sentence(const char *key, const char *value)
{
        if (!isempty(value))
                printf("%10s%s %s\n", key, *key ? ":" : " ", SENTENCE(value));
}

const char *output_named(const char *text, const char *id, char *ret, size_t size)
{
        const char *at = strstr(text, "DISK");

        if (at)
                (void) snprintf(ret, size, "%.*s%s%s", (int) (at - text), text, id, at + strlen("DISK"));
        else
                (void) copy_string(ret, size, text);
        return ret;
}

void output_decision(const struct explain_row *rows, size_t n, const char *remedy, const char *id)
{
        const struct explain_row *row = explain_deciding(rows, n);
        char text[512];

        if (!row)
                return;
        putchar('\n');
        output_field("Decides", reason_to_string(row->reason));
        output_sentence("Means", row->means);
        output_sentence("Remedy", output_named(remedy ?: row->remedy ?: "", id, text, sizeof(text)));
}

const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX])
{
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !localtime_r(&seconds, &tm) || strftime(ret, CLOCK_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
                return "-";
        return ret;
}

void output_part(const char *text)
{
        printf("%s", SENTENCE(text));
}

void output_line(int used, const char *text)
{
        char harmless[4096];

        (void) fold_print(stdout, harmless_sentence(text, harmless, sizeof(harmless)), (unsigned) used);
}

void output_tail(const char *sentence)
{
        printf("%s%s\n", isempty(sentence) ? "" : ". ", isempty(sentence) ? "" : SENTENCE(sentence));
}

static void output_luns(const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const struct lun *l = &v->disk.luns[i];
                char text[128], size[16];

                (void) snprintf(text, sizeof(text), "%s %s, LUN %u", l->disk.name[0] ? l->disk.name : "(no block device)",
                                size_text(l->size, size, sizeof(size)), l->lun);
                output_field(i == 0 ? "Disks" : "", text);
        }
}

void output_status(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const struct outcome *o = &v->disk.outcome;
        char text[1200], product[2 * USB_STRING_MAX];

        printf("%s%s%s %s\n", colour(sgr_of_state(v->disk.state)), style_utf8() ? "●" : "*", colour_end(),
               HARMLESS(f->interface, sizeof(f->interface)));
        output_field("Product", view_product(v, product, sizeof(product)));
        (void) snprintf(text, sizeof(text), "%04x:%04x, firmware %x.%02x", f->vid, f->pid, f->bcd >> 8, f->bcd & 0xff);
        output_field("Bridge", text);
        output_field("Serial", f->serial);
        output_luns(v);
        (void) snprintf(text, sizeof(text), "%u Mbit/s, USB %s%s", f->speed_mbps, f->usb_version,
                        facts_slow_link(f) ? "; the device could do " : "");
        if (facts_slow_link(f))
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u", f->max_speed_mbps);
        output_field("Speed", text);
        (void) snprintf(text, sizeof(text), "%s%s%s", view_driver(v) ?: "none", v->disk.host[0] ? " on " : "", v->disk.host);
        output_field("Driver", text);
        output_field("Target", view_target(v) ?: "stays on what it has");
        output_field("Capable", view_capable(v) ? "yes" : "no");
        (void) snprintf(text, sizeof(text), "%s%s", policy_to_string(f->policy), policy_source_clause(f->policy_source));
        output_field("Policy", text);
        output_field("Verdict", verdict_to_string(f->verdict));
        output_sentence("History", v->history);
        printf("%10s: %s%s%s\n", "State", colour(sgr_of_state(v->disk.state)), state_to_string(v->disk.state), colour_end());
        output_sentence("Reason", v->reason);
        for (size_t i = 0; i < v->disk.n_users; i++)
                output_sentence(i == 0 ? "Used" : "", user_text(&v->disk.users[i], text, sizeof(text)));
        if (o->code >= 0) {
                (void) snprintf(text, sizeof(text), "%s%s%s%s", o->text, o->step[0] ? " (step " : "", o->step,
                                o->step[0] ? ")" : "");
                output_sentence("Last", text);
        }
}
