/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>

#include "common/util.h"

#define SGR_GREEN "\033[32m"
#define SGR_YELLOW "\033[33m"
#define SGR_RED "\033[31m"
#define SGR_DIM "\033[2m"
#define SGR_BOLD "\033[1m"
#define SGR_END "\033[0m"

/* Four characters for every byte that is not harmless. */
#define HARMLESS(s, size) make_harmless(s, (char[4 * (size) + 1]){}, 4 * (size) + 1)

/*
 * The same for sentences of ours. Names in them may have been made harmless before: "\x1b" shall not become
 * "\x5cx1b".
 */
static char *harmless_sentence(const char *s, char *ret, size_t size)
{
        char *to = make_harmless(s, ret, size);

        for (const char *from = ret; *from; to++)
                if (strncmp(from, "\\x5c", 4) == 0) {
                        *to = '\\';
                        from += 4;
                } else
                        *to = *from++;
        *to = '\0';
        return ret;
}

#define SENTENCE(s) harmless_sentence(s, (char[2048]){}, 2048)

static bool utf8(void)
{
        return streq(nl_langinfo(CODESET), "UTF-8");
}

static bool colours(void)
{
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDOUT_FILENO) && isempty(no_color) && !(term && streq(term, "dumb"));
}

static const char *sgr_of_state(enum state s)
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

const char *colour_of_state(enum state s)
{
        return colours() ? sgr_of_state(s) : "";
}

const char *colour_end(void)
{
        return colours() ? SGR_END : "";
}

struct column {
        const char *name;
        int flags;
};

static struct libscols_table *new_table(const struct column *columns, size_t n, bool legend)
{
        struct libscols_table *t = scols_new_table();

        if (!t)
                return NULL;
        (void) scols_table_enable_colors(t, colours());
        /* What is harmless already it would escape again; without UTF-8 that is the lesser evil. */
        (void) scols_table_enable_noencoding(t, utf8());
        (void) scols_table_enable_noheadings(t, !legend);
        for (size_t i = 0; i < n; i++)
                if (!scols_table_new_column(t, columns[i].name, 0, columns[i].flags)) {
                        scols_unref_table(t);
                        return NULL;
                }
        return t;
}

static int print_table(struct libscols_table *t, int r)
{
        if (r == 0)
                r = scols_print_table(t);
        scols_unref_table(t);
        return r < 0 ? r : 0;
}

enum {
        COLUMN_ID,
        COLUMN_DISKS,
        COLUMN_SIZE,
        COLUMN_SPEED,
        COLUMN_DRIVER,
        COLUMN_TARGET,
        COLUMN_STATE,
        COLUMN_PRODUCT,
        COLUMN_REASON
};

static const struct column list_columns[] = {
        [COLUMN_ID] = {"ID", 0},
        [COLUMN_DISKS] = {"DISKS", 0},
        [COLUMN_SIZE] = {"SIZE", SCOLS_FL_RIGHT},
        [COLUMN_SPEED] = {"MBIT/S", SCOLS_FL_RIGHT},
        [COLUMN_DRIVER] = {"DRIVER", 0},
        [COLUMN_TARGET] = {"TARGET", 0},
        [COLUMN_STATE] = {"STATE", 0},
        [COLUMN_PRODUCT] = {"PRODUCT", SCOLS_FL_TRUNC},
        [COLUMN_REASON] = {"REASON", SCOLS_FL_TRUNC},
};

static const char *target_text(const struct view *v)
{
        return v->disk.decision.target == DRIVER_NONE ? "-" : driver_to_string(v->disk.decision.target);
}

/* All LUNs together: a table cell has room for one number. */
static char *sizes_text(const struct view *v, char *ret, size_t size)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < v->disk.n_luns; i++)
                sum += v->disk.luns[i].size;
        if (sum == 0)
                (void) copy_string(ret, size, "-");
        else
                (void) size_text(sum, ret, size);
        return ret;
}

static int add_disk(struct libscols_table *t, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        struct libscols_line *line = scols_table_new_line(t, NULL);
        char names[256], size[16], speed[16], product[2 * USB_STRING_MAX];
        int r = 0;

        if (!line)
                return -ENOMEM;
        (void) snprintf(speed, sizeof(speed), "%u", f->speed_mbps);
        const char *cells[] = {
                [COLUMN_ID] = HARMLESS(f->interface, sizeof(f->interface)),
                [COLUMN_DISKS] = HARMLESS(view_block_names(v, names, sizeof(names)), sizeof(names)),
                [COLUMN_SIZE] = sizes_text(v, size, sizeof(size)),
                [COLUMN_SPEED] = speed,
                [COLUMN_DRIVER] = view_driver(v) ? HARMLESS(view_driver(v), sizeof(f->driver_name)) : "-",
                [COLUMN_TARGET] = target_text(v),
                [COLUMN_STATE] = state_to_string(v->disk.state),
                [COLUMN_PRODUCT] = HARMLESS(view_product(v, product, sizeof(product)), sizeof(product)),
                [COLUMN_REASON] = SENTENCE(v->reason),
        };
        for (size_t i = 0; i < ELEMENTSOF(cells) && r == 0; i++)
                r = scols_line_set_data(line, i, cells[i]);
        if (r == 0)
                r = scols_cell_set_color(scols_line_get_cell(line, COLUMN_STATE), sgr_of_state(v->disk.state));
        return r;
}

int output_list(const struct views *v, bool legend)
{
        struct libscols_table *t = new_table(list_columns, ELEMENTSOF(list_columns), legend);
        int r = t ? 0 : -ENOMEM;

        for (size_t i = 0; i < v->n && r == 0; i++)
                r = add_disk(t, &v->list[i]);
        return t ? print_table(t, r) : r;
}

enum { ROW_MARK, ROW_REASON, ROW_FITS, ROW_FOUND };

static const struct column row_columns[] = {
        [ROW_MARK] = {"", 0},
        [ROW_REASON] = {"ROW", 0},
        [ROW_FITS] = {"FITS", 0},
        [ROW_FOUND] = {"FOUND", SCOLS_FL_WRAP},
};

static int add_row(struct libscols_table *t, const struct explain_row *row)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        int r;

        if (!line)
                return -ENOMEM;
        r = scols_line_set_data(line, ROW_MARK, !row->decides ? "" : utf8() ? "→" : "->");
        if (r == 0)
                r = scols_line_set_data(line, ROW_REASON, reason_to_string(row->reason));
        if (r == 0)
                r = scols_line_set_data(line, ROW_FITS, row->fits ? "yes" : "no");
        if (r == 0)
                r = scols_line_set_data(line, ROW_FOUND, SENTENCE(row->found));
        if (r == 0 && row->decides)
                r = scols_line_set_color(line, SGR_BOLD);
        return r;
}

int output_rows(const struct explain_row *rows, size_t n, bool legend)
{
        struct libscols_table *t = new_table(row_columns, ELEMENTSOF(row_columns), legend);
        int r = t ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && r == 0; i++)
                r = add_row(t, &rows[i]);
        return t ? print_table(t, r) : r;
}

enum { SAYS_HOLDS, SAYS_VERDICT, SAYS_FIRMWARE, SAYS_HOST, SAYS_SOURCE, SAYS_DATE, SAYS_NOTE };

static const struct column says_columns[] = {
        [SAYS_HOLDS] = {"HOLDS", 0},   [SAYS_VERDICT] = {"VERDICT", 0}, [SAYS_FIRMWARE] = {"FIRMWARE", 0},
        [SAYS_HOST] = {"HOST", 0},     [SAYS_SOURCE] = {"SOURCE", 0},   [SAYS_DATE] = {"DATE", 0},
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
                (void) snprintf(range, sizeof(range), "%x.%02x-%x.%02x", s->bcd_min >> 8, s->bcd_min & 0xff,
                                s->bcd_max >> 8, s->bcd_max & 0xff);
        const char *cells[] = {
                [SAYS_HOLDS] = firmware && host ? "yes" : firmware ? "other host" : "other firmware",
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
        struct libscols_table *t = new_table(says_columns, ELEMENTSOF(says_columns), legend);
        int r = t ? 0 : -ENOMEM;

        for (size_t i = 0; i < e->n_says && r == 0; i++)
                r = add_says(t, &e->says[i], bcd, platform);
        return t ? print_table(t, r) : r;
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

void output_tail(const char *sentence)
{
        printf("%s%s\n", isempty(sentence) ? "" : ". ", isempty(sentence) ? "" : SENTENCE(sentence));
}

static void output_luns(const struct view *v)
{
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                const struct lun *l = &v->disk.luns[i];
                char text[128], size[16];

                (void) snprintf(text, sizeof(text), "%s %s, LUN %u",
                                l->disk.name[0] ? l->disk.name : "(no block device)",
                                size_text(l->size, size, sizeof(size)), l->lun);
                output_field(i == 0 ? "Disks" : "", text);
        }
}

void output_status(const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        const struct outcome *o = &v->disk.outcome;
        char text[1200], product[2 * USB_STRING_MAX];

        printf("%s%s%s %s\n", colour_of_state(v->disk.state), utf8() ? "●" : "*", colour_end(),
               HARMLESS(f->interface, sizeof(f->interface)));
        output_field("Product", view_product(v, product, sizeof(product)));
        (void) snprintf(text, sizeof(text), "%04x:%04x, firmware %x.%02x", f->vid, f->pid, f->bcd >> 8,
                        f->bcd & 0xff);
        output_field("Bridge", text);
        output_field("Serial", f->serial);
        output_luns(v);
        (void) snprintf(text, sizeof(text), "%u Mbit/s, USB %s%s", f->speed_mbps, f->usb_version,
                        f->max_speed_mbps > f->speed_mbps ? "; the device could do " : "");
        if (f->max_speed_mbps > f->speed_mbps)
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u", f->max_speed_mbps);
        output_field("Speed", text);
        (void) snprintf(text, sizeof(text), "%s%s%s", view_driver(v) ?: "none", v->disk.host[0] ? " on " : "",
                        v->disk.host);
        output_field("Driver", text);
        output_field("Target",
                     v->disk.decision.target == DRIVER_NONE ? "stays on what it has" : target_text(v));
        output_field("Capable", view_capable(v) ? "yes" : "no");
        output_field("Policy", policy_to_string(f->policy));
        output_field("Verdict", verdict_to_string(f->verdict));
        output_sentence("History", v->history);
        printf("%10s: %s%s%s\n", "State", colour_of_state(v->disk.state), state_to_string(v->disk.state),
               colour_end());
        output_sentence("Reason", v->reason);
        for (size_t i = 0; i < v->disk.n_users; i++)
                output_field(i == 0 ? "Used" : "", user_text(&v->disk.users[i], text, sizeof(text)));
        if (o->code >= 0) {
                (void) snprintf(text, sizeof(text), "%s%s%s%s", o->text, o->step[0] ? " (step " : "", o->step,
                                o->step[0] ? ")" : "");
                output_sentence("Last", text);
        }
}
