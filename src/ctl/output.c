/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include "common/util.h"
#include "term/fold.h"
#include "term/table.h"

/* Four characters for every byte that is not harmless. */
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

enum { ROW_MARK, ROW_REASON, ROW_FITS, ROW_FOUND };

static const struct table_column row_columns[] = {
        [ROW_MARK] = {"", 0},
        [ROW_REASON] = {"ROW", 0},
        [ROW_FITS] = {"FITS", 0},
        [ROW_FOUND] = {"FOUND", SCOLS_FL_WRAP},
};

/* What the columns before it leave; 0: no width is to be kept to, or that is less than what a word takes. */
static unsigned found_room(const struct explain_row *rows, size_t n)
{
        size_t used = 0;

        for (size_t i = 0; i < n; i++)
                if (strlen(reason_to_string(rows[i].reason)) > used)
                        used = strlen(reason_to_string(rows[i].reason));
        used += strlen("-> ") + strlen(" FITS ");
        return style_width() > used + 20 ? style_width() - (unsigned) used : 0;
}

static int add_row(struct libscols_table *t, const struct explain_row *row, unsigned room)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        _cleanup_free_ char *found = fold(SENTENCE(row->found), room);
        int r;

        if (!line || !found)
                return -ENOMEM;
        r = scols_line_set_data(line, ROW_MARK, !row->decides ? "" : style_utf8() ? "→" : "->");
        if (r == 0)
                r = scols_line_set_data(line, ROW_REASON, reason_to_string(row->reason));
        if (r == 0)
                r = scols_line_set_data(line, ROW_FITS, row->fits ? "yes" : "no");
        if (r == 0)
                r = scols_line_set_data(line, ROW_FOUND, found);
        if (r == 0 && row->decides)
                r = scols_line_set_color(line, SGR_BOLD);
        return r;
}

int output_rows(const struct explain_row *rows, size_t n, bool legend)
{
        struct libscols_table *t = table_new(row_columns, ELEMENTSOF(row_columns), legend);
        unsigned room = found_room(rows, n);
        int r = t && room ? fold_column(scols_table_get_column(t, ROW_FOUND)) : 0;

        for (size_t i = 0; t && i < n && r == 0; i++)
                r = add_row(t, &rows[i], room);
        return table_print(t, r);
}

enum { SAYS_HOLDS, SAYS_VERDICT, SAYS_FIRMWARE, SAYS_HOST, SAYS_SOURCE, SAYS_DATE, SAYS_NOTE };

static const struct table_column says_columns[] = {
        [SAYS_HOLDS] = {"HOLDS", 0},           [SAYS_VERDICT] = {"VERDICT", 0},
        [SAYS_FIRMWARE] = {"FIRMWARE", 0},     [SAYS_HOST] = {"HOST", 0},
        [SAYS_SOURCE] = {"SOURCE", 0},         [SAYS_DATE] = {"DATE", 0},
        [SAYS_NOTE] = {"NOTE", SCOLS_FL_WRAP},
};

static int add_says(struct libscols_table *t, const struct db_says *s, uint16_t bcd, const char *platform)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        bool firmware = db_firmware_fits(s, bcd), host = db_host_fits(s, platform);
        char range[16] = "any";
        int r = 0;

        if (!line)
                return -ENOMEM;
        if (s->bcd_min > 0 || s->bcd_max < UINT16_MAX)
                (void) snprintf(range, sizeof(range), "%x.%02x-%x.%02x", s->bcd_min >> 8, s->bcd_min & 0xff, s->bcd_max >> 8,
                                s->bcd_max & 0xff);
        const char *cells[] = {
                [SAYS_HOLDS] = firmware && host ? "yes"
                               : firmware       ? "other host"
                                                : "other firmware",
                [SAYS_VERDICT] = verdict_to_string(s->verdict),
                [SAYS_FIRMWARE] = range,
                [SAYS_HOST] = streq(s->host, "*") ? "any" : HARMLESS(s->host, sizeof(s->host)),
                [SAYS_SOURCE] = HARMLESS(s->source, sizeof(s->source)),
                [SAYS_DATE] = HARMLESS(s->date, sizeof(s->date)),
                [SAYS_NOTE] = HARMLESS(s->note, sizeof(s->note)),
        };
        for (size_t i = 0; i < ELEMENTSOF(cells) && r == 0; i++)
                r = scols_line_set_data(line, i, cells[i]);
        return r;
}

int output_says(const struct db_entry *e, uint16_t bcd, const char *platform, bool legend)
{
        struct libscols_table *t = table_new(says_columns, ELEMENTSOF(says_columns), legend);
        int r = 0;

        for (size_t i = 0; t && i < e->n_says && r == 0; i++)
                r = add_says(t, &e->says[i], bcd, platform);
        return table_print(t, r);
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

void output_decision(const struct explain_row *rows, size_t n, const char *remedy, const char *id)
{
        const struct explain_row *row = explain_deciding(rows, n);
        char text[512] = "";
        const char *at;

        if (!row)
                return;
        putchar('\n');
        output_field("Decides", reason_to_string(row->reason));
        output_sentence("Means", row->means);
        /* Remedies speak of DISK: the name of this one makes them commands to paste. */
        remedy = remedy ?: row->remedy;
        if (remedy && (at = strstr(remedy, "DISK")))
                (void) snprintf(text, sizeof(text), "%.*s%s%s", (int) (at - remedy), remedy, id, at + strlen("DISK"));
        output_sentence("Remedy", text[0] ? text : remedy);
}

void output_part(const char *text)
{
        printf("%s", SENTENCE(text));
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
