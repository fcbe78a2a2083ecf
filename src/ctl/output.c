/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/output.h"

#include <stdarg.h>
#include <time.h>

#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "ctl/brief.h"
#include "term/terminal.h"

static const char *const sgr_of_state[_STATE_MAX] = {
        [STATE_SETTLED] = SGR_GREEN,    [STATE_HELD] = SGR_YELLOW,  [STATE_WAITING] = SGR_YELLOW,
        [STATE_SWITCHING] = SGR_YELLOW, [STATE_TRIAL] = SGR_YELLOW, [STATE_FAILED] = SGR_RED,
        [STATE_UNBOUND] = SGR_RED,      [STATE_IGNORED] = SGR_DIM,  [STATE_INCAPABLE] = SGR_DIM,
};

const char *output_colour(const struct view *v)
{
        if (v->disk.state == STATE_SETTLED && brief_advice(v))
                return SGR_YELLOW;
        return sgr_of_state[v->disk.state];
}

void output_head(const struct view *v, const char *text)
{
        _cleanup_free_ char *lines = fold_indented(text, 2);

        printf("%s%s%s %s\n", colour(output_colour(v)), style_utf8() ? "●" : "*", colour_end(),
               lines);
}

#define KEY_WIDTH 10
#define INDENT (KEY_WIDTH + 2)

/* sgr: one of SGR_*, or "". */
static void print_lines(const char *key, const char *lines, const char *sgr)
{
        key = translated(key);
        printf("%*s%s%s %s%s%s\n", fold_blanks(key, KEY_WIDTH), "", key, *key ? ":" : " ",
               colour(sgr), lines, *sgr ? colour_end() : "");
}

/* Prints a text that is harmless, in lines that are indented behind the key. */
static void print_value(const char *key, const char *value, const char *sgr)
{
        _cleanup_free_ char *lines = fold_indented(value, INDENT);

        print_lines(key, lines, sgr);
}

void output_command(const char *key, const char *command)
{
        print_lines(key, command, "");
}

void output_field(const char *key, const char *value)
{
        output_format(key, "", "%s", value ?: "");
}

void output_format(const char *key, const char *sgr, const char *format, ...)
{
        char value[OUTPUT_TEXT_MAX];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(value, sizeof(value), format, ap);
        va_end(ap);
        if (*value)
                print_value(key, HARMLESS(value), sgr);
}

void output_sentence(const char *key, const char *value)
{
        if (!isempty(value))
                print_value(key, SENTENCE(translated(value)), "");
}

const char *output_named(const char *text, const char *id, char *ret, size_t size)
{
        const char *at = strstr(text, "DISK");

        if (at)
                (void) snprintf(ret, size, "%.*s%s%s", (int) (at - text), text, id,
                                at + strlen("DISK"));
        else
                (void) copy_string(ret, size, text);
        return ret;
}

const char *output_clock(uint64_t usec, char ret[static CLOCK_MAX])
{
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !localtime_r(&seconds, &tm) ||
            strftime(ret, CLOCK_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
                return "-";
        return ret;
}

void output_line(int used, const char *text)
{
        fold_print(stdout, SENTENCE(text), (unsigned) used);
}

/* ---- columns ---- */

/* On a terminal that is too narrow, long texts are cut or folded, and columns of the default table
 * are left out. */
static const struct {
        const char *name;
        enum fit_fold folds; /* these four as in struct table_column */
        unsigned goes;
        int flags;
        unsigned narrow;
        enum detail needs;
} rows[_COLUMN_MAX] = {
        [COLUMN_ID] = {"ID"},
        [COLUMN_BUS] = {"BUS", .flags = SCOLS_FL_RIGHT},
        [COLUMN_PORT] = {"PORT", FIT_WHOLE, 1},
        [COLUMN_DISK] = {"DISK", FIT_BLANKS},
        [COLUMN_SIZE] = {"SIZE", FIT_WHOLE, 2, SCOLS_FL_RIGHT},
        [COLUMN_LINK] = {"LINK", FIT_WHOLE, 4, SCOLS_FL_RIGHT},
        [COLUMN_DRIVER] = {"DRIVER"},
        [COLUMN_TARGET] = {"TARGET"},
        [COLUMN_STATE] = {"STATE", FIT_SHORT, .narrow = 18},
        [COLUMN_STATE_ID] = {"STATE-ID"},
        [COLUMN_WHY] = {"WHY", FIT_CUT},
        [COLUMN_PRODUCT] = {"PRODUCT", FIT_SHORT, 3, .narrow = 8},
        [COLUMN_BRIDGE] = {"BRIDGE"},
        [COLUMN_REVISION] = {"REVISION"},
        [COLUMN_SERIAL] = {"SERIAL"},
        [COLUMN_USB] = {"USB"},
        [COLUMN_CAPABLE] = {"CAPABLE"},
        [COLUMN_POLICY] = {"POLICY", .needs = DETAIL_NO_USERS},
        [COLUMN_VERDICT] = {"VERDICT"},
        [COLUMN_HISTORY] = {"HISTORY", FIT_CUT, .needs = DETAIL_NO_USERS},
        [COLUMN_HOST] = {"HOST"},
        [COLUMN_BUSY] = {"BUSY", FIT_CUT, .needs = DETAIL_ALL},
        [COLUMN_REASON] = {"REASON", FIT_CUT, .needs = DETAIL_NO_USERS},
        [COLUMN_REASON_ID] = {"REASON-ID"},
};

static const struct columns shown = {
        {COLUMN_DISK, COLUMN_PRODUCT, COLUMN_SIZE, COLUMN_LINK, COLUMN_DRIVER, COLUMN_STATE,
         COLUMN_PORT},
        7,
};
/* The first one carries the tree. */
static const struct columns shown_as_tree = {
        {COLUMN_PORT, COLUMN_DISK, COLUMN_PRODUCT, COLUMN_SIZE, COLUMN_LINK, COLUMN_DRIVER,
         COLUMN_STATE},
        7,
};

struct table_column column_describe(enum column c, bool named)
{
        return (struct table_column){.name = rows[c].name,
                                     .fixed = true,
                                     .flags = rows[c].flags,
                                     .folds = rows[c].folds,
                                     .narrow = rows[c].narrow,
                                     .goes = named ? 0 : rows[c].goes};
}

const char *column_name(enum column c)
{
        return rows[c].name;
}

enum detail column_needs(enum column c)
{
        return rows[c].needs;
}

static int column_find(const char *name, size_t length)
{
        for (int i = 0; i < _COLUMN_MAX; i++)
                if (strlen(rows[i].name) == length && strncasecmp(rows[i].name, name, length) == 0)
                        return i;
        return -EINVAL;
}

static void tell_unknown(const char *name, size_t length)
{
        char list[16 * _COLUMN_MAX] = "";

        for (size_t i = 0; i < _COLUMN_MAX; i++)
                text_join(list, sizeof(list), "%s", rows[i].name);
        log_error("There is no column '%.*s'. There are: %s.", (int) length, name, list);
}

int columns_parse(const char *spec, bool tree, struct columns *ret)
{
        struct columns c = {};

        if (!spec || *spec == '+')
                c = tree ? shown_as_tree : shown;
        if (spec && *spec == '+')
                spec++;
        for (const char *at = spec; at;) {
                size_t length = strcspn(at, ",");
                int r = column_find(at, length);

                if (r < 0) {
                        tell_unknown(at, length);
                        return r;
                }
                if (c.n == COLUMNS_MAX)
                        return log_failure(-EINVAL, "More than %i columns are too many.",
                                           COLUMNS_MAX);
                c.list[c.n++] = (enum column) r;
                at = at[length] ? at + length + 1 : NULL;
        }
        *ret = c;
        return 0;
}

static void users_text(const struct disk *d, char *ret)
{
        char one[1024];

        for (size_t i = 0; i < d->n_users; i++)
                text_join(ret, CELL_MAX, "%s", SENTENCE(user_text(&d->users[i], one, sizeof(one))));
}

const char *column_text(enum column c, const struct view *v, char ret[static CELL_MAX])
{
        const struct disk *d = &v->disk;
        const struct facts *f = &d->facts;
        char text[1024];

        ret[0] = '\0';
        switch (c) {
        case COLUMN_ID:
                return make_harmless(f->interface, ret, CELL_MAX);
        case COLUMN_BUS:
                (void) copy_part(ret, CELL_MAX, f->port, strspn(f->port, "0123456789"));
                break;
        case COLUMN_PORT:
                return make_harmless(f->port, ret, CELL_MAX);
        case COLUMN_DISK:
                return make_harmless(view_block_names(v, text, sizeof(text)), ret, CELL_MAX);
        case COLUMN_SIZE:
                if (disk_size(d) > 0)
                        (void) size_text(disk_size(d), ret, CELL_MAX);
                break;
        case COLUMN_LINK:
                if (f->speed_mbps)
                        (void) brief_speed(f->speed_mbps, ret, CELL_MAX);
                break;
        case COLUMN_DRIVER:
                return make_harmless(view_driver(v) ?: "", ret, CELL_MAX);
        case COLUMN_TARGET:
                return view_target(v) ?: ret;
        case COLUMN_STATE:
                return make_harmless(brief_state(v, text), ret, CELL_MAX);
        case COLUMN_STATE_ID:
                return state_to_string(d->state);
        case COLUMN_WHY:
                return make_harmless(view_why(v), ret, CELL_MAX);
        case COLUMN_PRODUCT:
                return make_harmless(view_product(v, text, sizeof(text)), ret, CELL_MAX);
        case COLUMN_BRIDGE:
                (void) snprintf(ret, CELL_MAX, "%04x:%04x", f->vid, f->pid);
                break;
        case COLUMN_REVISION:
                (void) snprintf(ret, CELL_MAX, "%x.%02x", f->bcd >> 8, f->bcd & 0xff);
                break;
        case COLUMN_SERIAL:
                return make_harmless(f->serial, ret, CELL_MAX);
        case COLUMN_USB:
                return make_harmless(f->usb_version, ret, CELL_MAX);
        case COLUMN_CAPABLE:
                return view_capable(v) ? "yes" : "no";
        case COLUMN_POLICY:
                return policy_to_string(f->policy);
        case COLUMN_VERDICT:
                return verdict_to_string(f->verdict);
        case COLUMN_HISTORY:
                return harmless_sentence(v->history, ret, CELL_MAX);
        case COLUMN_HOST:
                return make_harmless(d->host, ret, CELL_MAX);
        case COLUMN_BUSY:
                users_text(d, ret);
                break;
        case COLUMN_REASON:
                return harmless_sentence(v->reason, ret, CELL_MAX);
        case COLUMN_REASON_ID:
                return make_harmless(v->reason_id, ret, CELL_MAX);
        case _COLUMN_MAX:
                break;
        }
        return ret;
}
