/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/history-table.h"

#include "common/util.h"
#include "term/fold.h"
#include "term/style.h"
#include "term/table.h"

#define NARROW 80   /* below it a link's speed and the rounds are not worth their room */
#define WORD_MAX 24 /* a longer one is cut before others have to go for it */
#define READABLE 20 /* a result in less has hardly two words a line */

static const struct {
        const char *name;
        int flags;
        bool folds;
} columns[_HISTORY_MAX] = {
        [HISTORY_ID] = {"ID", 0, false},
        [HISTORY_DATE] = {"DATE", 0, false},
        [HISTORY_DISK] = {"DISK", 0, true},
        [HISTORY_PROFILE] = {"PROFILE", 0, true},
        [HISTORY_LINK] = {"LINK", SCOLS_FL_RIGHT, false},
        [HISTORY_ROUNDS] = {"ROUNDS", SCOLS_FL_RIGHT, false},
        [HISTORY_RESULT] = {"RESULT", 0, true},
};

struct layout {
        bool shown[_HISTORY_MAX];
        unsigned least[_HISTORY_MAX], whole[_HISTORY_MAX], width[_HISTORY_MAX];
};

int history_table_add(struct history_table *t, const char *const cells[static _HISTORY_MAX])
{
        struct history_row *rows = reallocarray(t->rows, t->n + 1, sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        t->rows = rows;
        rows[t->n] = (struct history_row){};
        t->n++;
        for (size_t i = 0; i < _HISTORY_MAX; i++) {
                rows[t->n - 1].cells[i] = strdup(cells[i]);
                if (!rows[t->n - 1].cells[i])
                        return -ENOMEM;
        }
        return 0;
}

void history_table_done(struct history_table *t)
{
        for (size_t i = 0; i < t->n; i++)
                for (size_t k = 0; k < _HISTORY_MAX; k++)
                        free(t->rows[i].cells[k]);
        free(t->rows);
        *t = (struct history_table){};
}

static unsigned most(unsigned a, unsigned b)
{
        return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

static void measure(const struct history_table *t, bool legend, struct layout *ret)
{
        *ret = (struct layout){};
        for (size_t i = 0; i < _HISTORY_MAX; i++) {
                ret->shown[i] = true;
                ret->least[i] = ret->whole[i] = legend && columns[i].name ? fold_width(columns[i].name) : 0;
                for (size_t k = 0; k < t->n; k++) {
                        const char *cell = t->rows[k].cells[i];

                        ret->whole[i] = most(ret->whole[i], fold_width(cell));
                        ret->least[i] = most(ret->least[i], least(fold_longest_word(cell), WORD_MAX));
                        if (i == HISTORY_RESULT)
                                ret->least[i] = most(ret->least[i], least(fold_width(cell), READABLE));
                }
                if (!columns[i].folds)
                        ret->least[i] = ret->whole[i];
        }
}

/* Of all columns, and the blank before each of them but the first. */
static unsigned sum(const struct layout *l, const unsigned widths[static _HISTORY_MAX])
{
        unsigned all = 0;

        for (size_t i = 0; i < _HISTORY_MAX; i++)
                all += l->shown[i] ? widths[i] + (i > 0) : 0;
        return all;
}

/* What there is no room for goes, what matters least first. What is left of the room the columns that fold
 * share out. */
static void lay_out(struct layout *l, unsigned room)
{
        static const enum history_column goes[] = {HISTORY_TIME, HISTORY_PROFILE, HISTORY_DATE, HISTORY_DISK},
                                         grows[] = {HISTORY_PROFILE, HISTORY_DISK, HISTORY_RESULT};

        if (room < NARROW)
                l->shown[HISTORY_LINK] = l->shown[HISTORY_ROUNDS] = false;
        for (size_t i = 0; i < ELEMENTSOF(goes) && sum(l, l->least) > room; i++)
                l->shown[goes[i]] = false;
        memcpy(l->width, l->least, sizeof(l->width));
        for (size_t i = 0; i < ELEMENTSOF(grows); i++) {
                enum history_column c = grows[i];
                unsigned used = sum(l, l->width), left = used < room ? room - used : 0;

                /* The disk takes no more than half of it: the result has more to say. */
                if (c == HISTORY_DISK && l->width[HISTORY_RESULT] + left < l->whole[HISTORY_RESULT])
                        left /= 2;
                l->width[c] += l->shown[c] ? least(left, l->whole[c] - l->width[c]) : 0;
        }
        if (sum(l, l->width) > room) /* of ID and RESULT, which stay */
                l->width[HISTORY_RESULT] =
                        room > l->width[HISTORY_ID] + 2 ? room - l->width[HISTORY_ID] - 1 : 1;
}

static int add_cell(struct libscols_line *line, size_t at, const struct history_row *row, enum history_column c,
                    const struct layout *l)
{
        _cleanup_free_ char *text = NULL;

        if (c == HISTORY_DATE && l->shown[HISTORY_TIME] && *row->cells[HISTORY_TIME])
                return asprintf(&text, "%s %s", row->cells[c], row->cells[HISTORY_TIME]) < 0
                               ? -ENOMEM
                               : scols_line_set_data(line, at, text);
        text = fold(row->cells[c], columns[c].folds ? l->width[c] : 0);
        return text ? scols_line_set_data(line, at, text) : -ENOMEM;
}

static int add_row(struct libscols_table *t, const struct history_row *row, const struct layout *l)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        size_t at = 0;
        int r = line ? 0 : -ENOMEM;

        for (enum history_column c = 0; c < _HISTORY_MAX && r == 0; c++)
                if (l->shown[c] && columns[c].name)
                        r = add_cell(line, at++, row, c, l);
        return r;
}

int history_table_print(const struct history_table *t, bool legend)
{
        struct table_column chosen[_HISTORY_MAX];
        bool folds[_HISTORY_MAX] = {false};
        struct libscols_table *table;
        struct layout l;
        size_t n = 0;
        int r = 0;

        measure(t, legend, &l);
        if (style_width() > 0)
                lay_out(&l, style_width());
        for (enum history_column c = 0; c < _HISTORY_MAX; c++)
                if (l.shown[c] && columns[c].name) {
                        folds[n] = columns[c].folds && style_width() > 0;
                        chosen[n++] = (struct table_column){columns[c].name, columns[c].flags};
                }
        table = table_new(chosen, n, legend);
        for (size_t i = 0; table && i < n && r == 0; i++)
                r = folds[i] ? fold_column(scols_table_get_column(table, i)) : 0;
        for (size_t i = 0; table && i < t->n && r == 0; i++)
                r = add_row(table, &t->rows[i], &l);
        return table_print(table, r);
}
