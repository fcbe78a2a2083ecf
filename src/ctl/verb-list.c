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

static int add_disk(struct tree *t, const struct view *v, bool tree)
{
        struct libscols_line *line = scols_table_new_line(t->table, tree ? tree_above(t, v->disk.facts.port) : NULL);
        const struct columns *c = t->columns;
        int r = line ? 0 : -ENOMEM;

        for (size_t i = 0; i < c->n && r == 0; i++) {
                char room[CELL_MAX];
                const char *text = column_text(c->list[i], v, room);

                r = scols_line_set_data(line, i, *text ? text : "-");
                if (r == 0)
                        r = scols_cell_set_color(scols_line_get_cell(line, i), colour_of_cell(c->list[i], v));
        }
        return r == 0 && tree ? tree_luns(t, line, v) : r;
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
        int r = 0;

        for (size_t i = 0; i < c->n; i++)
                columns[i] = describe(c->list[i]);
        if (tree)
                columns[0].flags = SCOLS_FL_TREE;
        t.table = table_new(columns, c->n, ctl->options->legend);
        /* What was asked for by name is not left out. */
        if (t.table && !ctl->options->columns)
                (void) scols_table_enable_nowrap(t.table, true);
        for (size_t i = 0; t.table && i < v->n && r == 0; i++)
                r = add_disk(&t, &v->list[i], tree);
        tree_done(&t);
        return table_print(t.table, r);
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

int verb_list(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        struct columns columns;
        int code, k = 0;

        if (columns_parse(c->options->columns, &columns) < 0)
                return UASD_EXIT_USAGE;
        code = read_for(c, &columns, &views);
        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                json_print(json_views(&views));
        else if (views.n > 0) {
                pager_open(c->options->pager);
                k = print_list(c, &views, &columns);
        } else
                log_info("There are no USB disks.");
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
