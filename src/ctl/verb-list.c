/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/options.h"

#include "ctl/brief.h"
#include "ctl/output.h"
#include "ctl/schema.h"
#include "ctl/verbs.h"
#include "sys/usb/link.h"
#include "sys/usb/usbdisk.h"

/* ---- buses, hubs and LUNs ---- */

/* The lines of the buses and hubs above disks. */
struct tree {
        const struct roots *roots; /* source of their descriptions, which may stay empty */
        const struct columns *columns;
        struct libscols_table *table;
        struct tree_node {
                char *name;
                struct libscols_line *line;
        } * nodes;
        size_t n;
};

static void tree_done(struct tree *t)
{
        for (size_t i = 0; i < t->n; i++)
                free(t->nodes[i].name);
        free(t->nodes);
}

static const char *hub_text(const struct hub *h, enum column c, char ret[static CELL_MAX])
{
        ret[0] = '\0';
        if (c == COLUMN_ID || c == COLUMN_PORT)
                return make_harmless(h->name, ret, CELL_MAX);
        if (c == COLUMN_DRIVER)
                return make_harmless(h->driver, ret, CELL_MAX);
        if (c == COLUMN_PRODUCT)
                return make_harmless(h->product, ret, CELL_MAX);
        if (c == COLUMN_LINK && h->speed_mbps)
                (void) brief_speed(h->speed_mbps, ret, CELL_MAX);
        return ret;
}

static struct libscols_line *tree_above(struct tree *t, const char *port);

static void tree_add_node(struct tree *t, const char *name, struct libscols_line *above)
{
        char rooms[COLUMNS_MAX][CELL_MAX];
        const char *cells[COLUMNS_MAX];
        struct tree_node node = {.name = need(strdup(name))};
        struct hub hub;

        hub_read(t->roots, name, &hub);
        for (size_t i = 0; i < t->columns->n; i++)
                cells[i] = hub_text(&hub, t->columns->list[i], rooms[i]);
        node.line = table_row(t->table, above, cells);
        need_push(t->nodes, t->n, node);
}

static struct libscols_line *tree_line(struct tree *t, const char *name)
{
        for (size_t i = 0; i < t->n; i++)
                if (streq(t->nodes[i].name, name))
                        return t->nodes[i].line;
        tree_add_node(t, name, tree_above(t, name));
        return t->nodes[t->n - 1].line;
}

/* The line above the disk at this port ("2-1.4"). Makes it, and those above it, if needed. NULL:
 * none. */
static struct libscols_line *tree_above(struct tree *t, const char *port)
{
        char name[INTERFACE_NAME_MAX];

        if (!hub_above(port, name))
                return NULL;
        return tree_line(t, name);
}

static void add_lun_line(struct tree *t, struct libscols_line *disk, const struct lun *l)
{
        const char *cells[COLUMNS_MAX];
        char size[16];

        for (size_t i = 0; i < t->columns->n; i++) {
                enum column c = t->columns->list[i];

                cells[i] = "";
                if (i == 0 || c == COLUMN_DISK)
                        cells[i] = l->disk.name;
                else if (c == COLUMN_SIZE)
                        cells[i] = size_text(l->size, size, sizeof(size));
        }
        (void) table_row(t->table, disk, cells);
}

/* ---- disks ---- */

/* A disk to look at gets a mark too, because colour must not be the only sign. */
static bool is_marked(enum column c, const struct view *v)
{
        if (c == COLUMN_DRIVER)
                return view_is_slower(v);
        if (c == COLUMN_LINK)
                return facts_slow_link(&v->disk.facts);
        if (c == COLUMN_STATE)
                return v->diagnosis[0];
        return (c == COLUMN_WHY || c == COLUMN_VERDICT) && v->disk.facts.verdict == VERDICT_BAD;
}

static const char *colour_of_cell(enum column c, const struct view *v)
{
        if (is_marked(c, v) && (c == COLUMN_DRIVER || c == COLUMN_LINK))
                return SGR_YELLOW;
        if (is_marked(c, v))
                return SGR_RED;
        if (c == COLUMN_STATE)
                return output_colour(v);
        return NULL;
}

static void add_disk(struct tree *t, const struct view *v, bool tree)
{
        const struct columns *c = t->columns;
        char rooms[COLUMNS_MAX][CELL_MAX];
        const char *cells[COLUMNS_MAX];
        struct libscols_line *line, *above = NULL;

        for (size_t i = 0; i < c->n; i++) {
                char text[CELL_MAX];
                const char *cell = column_text(c->list[i], v, text);

                (void) copy_string(rooms[i], CELL_MAX, *cell ? cell : "-");
                if (is_marked(c->list[i], v))
                        text_add(rooms[i], CELL_MAX, "!");
                cells[i] = rooms[i];
        }
        if (tree)
                above = tree_above(t, v->disk.facts.port);
        line = table_row(t->table, above, cells);
        for (size_t i = 0; i < c->n; i++)
                (void) scols_cell_set_color(scols_line_get_cell(line, i),
                                            colour_of_cell(c->list[i], v));
        /* A disk with several LUNs has a line for each of them below its own. */
        for (size_t i = 0; tree && v->disk.n_luns > 1 && i < v->disk.n_luns; i++)
                if (v->disk.luns[i].disk.name[0])
                        add_lun_line(t, line, &v->disk.luns[i]);
}

static void print_list(const struct ctl *ctl, const struct views *v, const struct columns *c)
{
        struct table_column columns[COLUMNS_MAX];
        struct tree t = {.roots = &ctl->client.roots, .columns = c};
        bool tree = ctl->options->given & OPTION_TREE;

        for (size_t i = 0; i < c->n; i++)
                columns[i] = column_describe(c->list[i], ctl->options->columns);
        if (tree)
                columns[0] = (struct table_column){
                        .name = columns[0].name, .fixed = true, .flags = SCOLS_FL_TREE};
        t.table = table_new(columns, c->n, ctl->options->legend);
        for (size_t i = 0; i < v->n; i++)
                add_disk(&t, &v->list[i], tree);
        tree_done(&t);
        table_print(t.table, columns, c->n);
}

#define HINTS_NAMED 3 /* with more disks the command names none, and shows all */

/* "2 hints: uasctl status sdb sdc" */
static void print_hints(const struct views *v)
{
        char names[HINTS_NAMED * (INTERFACE_NAME_MAX + 1) + 1] = "";
        size_t n = 0;

        for (size_t i = 0; i < v->n; i++) {
                if (!brief_advice(&v->list[i]))
                        continue;
                n++;
                text_add(names, sizeof(names), " %s", view_name(&v->list[i]));
        }
        if (n > HINTS_NAMED)
                names[0] = '\0';
        if (n == 1)
                printf(_("1 hint: uasctl status%s\n"), names);
        else if (n > 1)
                printf(_("%zu hints: uasctl status%s\n"), n, names);
}

/* Reads only the data for the columns. */
static int read_for(const struct ctl *ctl, const struct columns *c, struct views *ret)
{
        enum detail detail = ctl->options->json ? DETAIL_ALL : DETAIL_BRIEF;

        for (size_t i = 0; i < c->n; i++)
                if (column_needs(c->list[i]) > detail)
                        detail = column_needs(c->list[i]);
        return source_read(&ctl->client, detail, ret);
}

int verb_list(struct ctl *c, char **args)
{
        struct columns columns;
        int r;

        if (columns_parse(c->options->columns, c->options->given & OPTION_TREE, &columns) < 0)
                return UASD_EXIT_USAGE;
        r = read_for(c, &columns, &c->views);
        if (r == UASD_EXIT_OK)
                r = ctl_choose(c, args);
        if (r != UASD_EXIT_OK)
                return r;
        for (size_t i = 0; ctl_json(c) && i < c->views.n; i++)
                append(c->json, json_disk(&c->views.list[i]));
        if (c->json)
                return UASD_EXIT_OK;
        if (c->views.n == 0)
                return log_answer(UASD_EXIT_OK, "There are no USB disks.");
        pager_open(c->options->pager);
        print_list(c, &c->views, &columns);
        if (c->options->legend && !c->options->columns)
                print_hints(&c->views);
        return UASD_EXIT_OK;
}
