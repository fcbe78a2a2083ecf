/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/tree.h"

#include "common/util.h"
#include "sys/usb/hubs.h"

void tree_done(struct tree *t)
{
        for (size_t i = 0; i < t->n; i++)
                free(t->nodes[i].name);
        free(t->nodes);
        t->nodes = NULL;
        t->n = 0;
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

static int add_node(struct tree *t, const char *name, struct libscols_line *line)
{
        void *grown = reallocarray(t->nodes, t->n + 1, sizeof(*t->nodes));
        struct hub hub;
        int r = 0;

        if (!grown)
                return -ENOMEM;
        t->nodes = grown;
        t->nodes[t->n].name = strdup(name);
        if (!t->nodes[t->n].name)
                return -ENOMEM;
        t->nodes[t->n++].line = line;
        hub_read(t->roots, name, &hub);
        for (size_t i = 0; i < t->columns->n && r == 0; i++) {
                char room[CELL_MAX];

                r = scols_line_set_data(line, i, hub_text(&hub, t->columns->list[i], room));
        }
        return r;
}

static struct libscols_line *line_of(struct tree *t, const char *name)
{
        struct libscols_line *line;

        for (size_t i = 0; i < t->n; i++)
                if (streq(t->nodes[i].name, name))
                        return t->nodes[i].line;
        line = scols_table_new_line(t->table, tree_above(t, name));
        return line && add_node(t, name, line) == 0 ? line : NULL;
}

struct libscols_line *tree_above(struct tree *t, const char *port)
{
        char name[INTERFACE_NAME_MAX];

        return hub_above(port, name) ? line_of(t, name) : NULL;
}

static int add_lun(struct tree *t, struct libscols_line *disk, const struct lun *l)
{
        struct libscols_line *line = scols_table_new_line(t->table, disk);
        char size[16];
        int r = line ? 0 : -ENOMEM;

        for (size_t i = 0; i < t->columns->n && r == 0; i++) {
                enum column c = t->columns->list[i];

                r = scols_line_set_data(line, i,
                                        c == COLUMN_ID || c == COLUMN_DISKS ? l->disk.name
                                        : c == COLUMN_SIZE                  ? size_text(l->size, size, sizeof(size))
                                                                            : "");
        }
        return r;
}

int tree_luns(struct tree *t, struct libscols_line *disk, const struct view *v)
{
        int r = 0;

        for (size_t i = 0; v->disk.n_luns > 1 && i < v->disk.n_luns && r == 0; i++)
                if (v->disk.luns[i].disk.name[0])
                        r = add_lun(t, disk, &v->disk.luns[i]);
        return r;
}
