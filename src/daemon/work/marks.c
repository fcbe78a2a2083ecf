/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work/marks.h"

#include "common/log.h"

/* Returns 0 or -errno. */
static int mark_write(struct entry *e)
{
        int r = attachment_change(&e->manager->roots, &e->life.disk.facts, e->marks.late,
                                  &e->marks.to);

        if (r >= 0)
                e->marks.late = 0;
        return r;
}

int mark_set(struct entry *e, unsigned fields, const struct attachment_mark *to)
{
        int r = attachment_change(&e->manager->roots, &e->life.disk.facts, fields, to);

        if (r < 0)
                return r;
        e->marks.late &= ~fields;
        if (e->marks.late)
                (void) mark_write(e);
        return 0;
}

void mark_keep(struct entry *e, unsigned fields, const struct attachment_mark *to)
{
        int r = mark_set(e, fields, to);

        if (r >= 0)
                return;
        if (!e->marks.late)
                log_warning(
                        "%s: its mark in /run cannot be changed, and uasd tries again later: %s",
                        e->life.disk.facts.interface, strerror(-r));
        (void) attachment_mark_take(&e->marks.to, fields, to);
        e->marks.late |= fields;
}

int mark_read(const struct entry *e, const struct facts *f, struct attachment_mark *ret)
{
        int r = attachment_read(&e->manager->roots, f, ret);

        (void) attachment_mark_take(ret, e->marks.late, &e->marks.to);
        return r;
}

void mark_drop_override(struct entry *e, enum driver target)
{
        struct attachment_mark a = {};

        (void) mark_read(e, &e->life.disk.facts, &a);
        if (a.override_target == target)
                mark_keep(e, MARK_OVERRIDE, &(struct attachment_mark){});
}

void marks_end(struct manager *m)
{
        FOREACH_ENTRY (e, m)
                if (e->marks.late && mark_write(e) < 0)
                        log_warning("%s: its mark in /run still says what is no longer true",
                                    e->life.disk.facts.interface);
}
