/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/gentler.h"

#include "common/gettext.h"
#include "common/util.h"
#include "ctl/output.h"
#include "sys/io/sysfs.h"

static const struct {
        const char *before, *after; /* the attribute below /sys, without the name of the port or block device */
        bool of_port;
        const char *value, *means;
} steps[] = {
        /* clang-format off */
        {"bus/usb/devices", "port/usb3_lpm_permit", true, "0", N_("the link does not save power")},
        {"block", "queue/max_sectors_kb", false, "64", N_("commands of at most 64 KiB")},
        {"block", "device/queue_depth", false, "1", N_("one command at a time")},
        /* clang-format on */
};

static void print_step(const struct ctl *c, size_t i, const char *name, bool *ret_first)
{
        char path[128], now[32], text[400];

        (void) snprintf(path, sizeof(path), "%s/%s/%s", steps[i].before, name, steps[i].after);
        if (attr_read(c->client.roots.sys, path, now, sizeof(now)) <= 0 || streq(now, steps[i].value))
                return;
        (void) snprintf(text, sizeof(text), _("echo %s >/sys/%s # now %s; %s"), steps[i].value, path, now, _(steps[i].means));
        output_field(*ret_first ? "Gentler" : "", text);
        *ret_first = false;
}

void gentler_print(const struct ctl *c, const struct view *v)
{
        const struct disk *d = &v->disk;
        bool first = true;

        if (!view_leaves_uas(v) || d->n_users == 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                if (steps[i].of_port)
                        print_step(c, i, d->facts.port, &first);
                for (size_t l = 0; !steps[i].of_port && l < d->n_luns; l++)
                        if (d->luns[l].disk.name[0])
                                print_step(c, i, d->luns[l].disk.name, &first);
        }
        if (!first)
                output_sentence(
                        "",
                        N_("These steps of root end when the disk is unplugged. To undo one, write the value that it has now."));
}
