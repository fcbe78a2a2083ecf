/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/util.h"
#include "core/facts.h"
#include "ctl/style.h"

#define WIPE "\r\033[K"

static bool wanted, shown;

struct told {
        char disk[INTERFACE_NAME_MAX], state[16], step[24];
};

void progress_open(const struct options *o)
{
        wanted = !o->quiet && isatty(STDERR_FILENO) && !style_dumb();
}

void progress_clear(void)
{
        if (shown)
                (void) fputs(WIPE, stderr);
        shown = false;
}

static int read_one(sd_bus_message *m, struct told *t)
{
        const char *name, *value, *type;
        char kind;
        int k = sd_bus_message_read(m, "s", &name);

        if (k >= 0)
                k = sd_bus_message_peek_type(m, &kind, &type);
        if (k < 0)
                return k;
        if (!streq(type, "s"))
                return sd_bus_message_skip(m, "v");
        k = sd_bus_message_read(m, "v", "s", &value);
        if (k < 0)
                return k;
        if (streq(name, "Disk"))
                (void) copy_string(t->disk, sizeof(t->disk), value);
        else if (streq(name, "State"))
                (void) copy_string(t->state, sizeof(t->state), value);
        else if (streq(name, "Step"))
                (void) copy_string(t->step, sizeof(t->step), value);
        return 0;
}

static int read_told(sd_bus_message *m, struct told *ret)
{
        struct told t = {};
        int k = sd_bus_message_enter_container(m, 'a', "{sv}");

        while (k >= 0 && (k = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                k = read_one(m, &t);
                if (k >= 0)
                        k = sd_bus_message_exit_container(m);
        }
        if (k >= 0)
                *ret = t;
        return k;
}

void progress_take(sd_bus_message *m, const char *disk)
{
        char id[4 * INTERFACE_NAME_MAX], step[4 * sizeof(((struct told *) NULL)->step)];
        struct told t;

        if (!wanted || read_told(m, &t) < 0 || (disk && !streq(t.disk, disk)))
                return;
        progress_clear();
        if (!streq(t.state, "running") || !t.step[0])
                return;
        (void) fprintf(stderr, "%s: %s", make_harmless(t.disk, id, sizeof(id)), make_harmless(t.step, step, sizeof(step)));
        shown = true;
}
