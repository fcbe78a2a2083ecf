/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/kernel-line.h"

#include "common/util.h"

static const struct quirk_line *last_of(const struct quirk_facts *q, enum quirk_source source)
{
        for (size_t i = q->lines.n; i > 0; i--)
                if (q->lines.list[i - 1].source == source)
                        return q->lines.list + i - 1;
        return NULL;
}

const struct quirk_line *kernel_line_base(const struct quirk_facts *q, enum quirk_source place)
{
        const struct quirk_line *line = last_of(q, place);

        if (line || place == QUIRK_MODPROBE || q->built_in)
                return line;
        return last_of(q, QUIRK_MODPROBE);
}

static int make_one(const char *base, const struct facts *f, enum driver target, struct keepoff *ret)
{
        struct keepoff made = {0};
        char entry[QUIRK_ENTRY_MAX], others[QUIRKS_MAX + 1];
        struct bridge b;
        int r = 0;

        facts_bridge(f, &b);
        (void) copy_string(made.quirks, sizeof(made.quirks), base);
        if (quirks_entry(base, &b, target, entry) > 0) {
                quirks_drop(base, f->vid, f->pid, others);
                if (quirks_prepend(others, entry, made.quirks) < 0)
                        r = keepoff_leave_out(&made, entry, f->vid, f->pid, f->serial);
                else
                        (void) copy_string(made.own, sizeof(made.own), entry);
        }
        if (r < 0) {
                keepoff_done(&made);
                return r;
        }
        *ret = made;
        return 0;
}

int kernel_line_make(const struct quirk_line *base, const struct kept_disks *kept, const struct facts *one, enum driver target,
                     struct keepoff *ret)
{
        const char *others = base ? base->value : "";

        if (strlen(others) > QUIRKS_MAX)
                return -E2BIG;
        return one ? make_one(others, one, target, ret) : keepoff_entries(kept, others, true, ret);
}
