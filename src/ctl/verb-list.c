/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/source.h"
#include "common/log.h"
#include "common/util.h"
#include "ctl/columns.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/tree.h"
#include "ctl/verbs.h"
#include "term/pager.h"
#include "term/style.h"
#include "term/table.h"

#define CUT_FIRST 0.01 /* of the terminal: down to its heading before any other column loses a character */

static const char *colour_of_cell(enum column c, const struct view *v)
{
        if (c == COLUMN_STATE)
                return sgr_of_state(v->disk.state);
        return c == COLUMN_SPEED && facts_slow_link(&v->disk.facts) ? SGR_YELLOW : NULL;
}

static void add_disk(struct tree *t, const struct view *v, bool tree)
{
        const struct columns *c = t->columns;
        char rooms[COLUMNS_MAX][CELL_MAX];
        const char *cells[COLUMNS_MAX];
        struct libscols_line *line;

        for (size_t i = 0; i < c->n; i++) {
                cells[i] = column_text(c->list[i], v, rooms[i]);
                cells[i] = *cells[i] ? cells[i] : "-";
        }
        line = table_row(t->table, tree ? tree_above(t, v->disk.facts.port) : NULL, cells);
        for (size_t i = 0; i < c->n; i++)
                (void) scols_cell_set_color(scols_line_get_cell(line, i), colour_of_cell(c->list[i], v));
        if (tree)
                tree_luns(t, line, v);
}

/* Of a table too wide long sentences are cut first, then what the disk is called; what is told in a word stays whole. */
static struct table_column describe(enum column c)
{
        struct table_column t = {.name = column_name(c)};

        if (column_is_number(c))
                t.flags |= SCOLS_FL_RIGHT;
        if (column_is_long(c) || c == COLUMN_PRODUCT)
                t.flags |= SCOLS_FL_TRUNC;
        if (column_is_long(c))
                t.hint = CUT_FIRST;
        return t;
}

static int print_list(const struct ctl *ctl, const struct views *v, const struct columns *c)
{
        struct table_column columns[COLUMNS_MAX];
        struct tree t = {.roots = &ctl->client.roots, .columns = c};
        bool tree = ctl->options->given & OPTION_TREE;

        for (size_t i = 0; i < c->n; i++)
                columns[i] = describe(c->list[i]);
        if (tree)
                columns[0].flags = SCOLS_FL_TREE;
        t.table = table_new(columns, c->n, ctl->options->legend);
        /* What was asked for by name is not left out. */
        if (!ctl->options->columns)
                (void) scols_table_enable_nowrap(t.table, true);
        for (size_t i = 0; i < v->n; i++)
                add_disk(&t, &v->list[i], tree);
        tree_done(&t);
        return table_print(t.table, 0);
}

/* No more is asked for than is shown. */
static int read_for(const struct ctl *ctl, const struct columns *c, struct views *ret)
{
        bool users = ctl->options->json, brief = !users;

        for (size_t i = 0; i < c->n; i++) {
                users = users || c->list[i] == COLUMN_BUSY;
                brief = brief && column_is_brief(c->list[i]);
        }
        return source_read(&ctl->client, users ? DETAIL_ALL : brief ? DETAIL_BRIEF : DETAIL_NO_USERS, ret);
}

int verb_list(struct ctl *c, char **args)
{
        struct columns columns;
        int r;

        if (columns_parse(c->options->columns, &columns) < 0)
                return UASD_EXIT_USAGE;
        r = read_for(c, &columns, &c->views);
        if (r != UASD_EXIT_OK)
                return r;
        if (c->options->json) {
                json_print(json_views(&c->views));
                return UASD_EXIT_OK;
        }
        if (c->views.n == 0) {
                log_info("There are no USB disks.");
                return UASD_EXIT_OK;
        }
        pager_open(c->options->pager);
        return print_list(c, &c->views, &columns) < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
