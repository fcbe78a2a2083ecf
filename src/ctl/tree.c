/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/tree.h"

#include "common/util.h"
#include "sys/usb/hubs.h"
#include "term/program.h"
#include "term/table.h"

void tree_done(struct tree *t)
{
        for (size_t i = 0; i < t->n; i++)
                free(t->nodes[i].name);
        free(t->nodes);
}

static const char *hub_text(const struct hub *h, enum column c, char ret[static CELL_MAX])
{
        ret[0] = '\0';
        if (c == COLUMN_ID)
                return make_harmless(h->name, ret, CELL_MAX);
        if (c == COLUMN_DRIVER)
                return make_harmless(h->driver, ret, CELL_MAX);
        if (c == COLUMN_PRODUCT)
                return make_harmless(h->product, ret, CELL_MAX);
        if (c == COLUMN_SPEED && h->speed_mbps)
                (void) snprintf(ret, CELL_MAX, "%uM", h->speed_mbps);
        return ret;
}

static void add_node(struct tree *t, const char *name, struct libscols_line *above)
{
        char rooms[COLUMNS_MAX][CELL_MAX];
        const char *cells[COLUMNS_MAX];
        struct hub hub;

        hub_read(t->roots, name, &hub);
        for (size_t i = 0; i < t->columns->n; i++)
                cells[i] = hub_text(&hub, t->columns->list[i], rooms[i]);
        t->nodes = need(reallocarray(t->nodes, t->n + 1, sizeof(*t->nodes)));
        t->nodes[t->n].name = need(strdup(name));
        t->nodes[t->n++].line = table_row(t->table, above, cells);
}

static struct libscols_line *line_of(struct tree *t, const char *name)
{
        for (size_t i = 0; i < t->n; i++)
                if (streq(t->nodes[i].name, name))
                        return t->nodes[i].line;
        add_node(t, name, tree_above(t, name));
        return t->nodes[t->n - 1].line;
}

struct libscols_line *tree_above(struct tree *t, const char *port)
{
        char name[INTERFACE_NAME_MAX];

        return hub_above(port, name) ? line_of(t, name) : NULL;
}

static void add_lun(struct tree *t, struct libscols_line *disk, const struct lun *l)
{
        const char *cells[COLUMNS_MAX];
        char size[16];

        for (size_t i = 0; i < t->columns->n; i++) {
                enum column c = t->columns->list[i];

                cells[i] = c == COLUMN_ID || c == COLUMN_DISKS ? l->disk.name
                           : c == COLUMN_SIZE                  ? size_text(l->size, size, sizeof(size))
                                                               : "";
        }
        (void) table_row(t->table, disk, cells);
}

void tree_luns(struct tree *t, struct libscols_line *disk, const struct view *v)
{
        for (size_t i = 0; v->disk.n_luns > 1 && i < v->disk.n_luns; i++)
                if (v->disk.luns[i].disk.name[0])
                        add_lun(t, disk, &v->disk.luns[i]);
}
