/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/explain.h"

#include "common/util.h"
#include "core/policy-table.h"

size_t explain(const struct facts *f, struct explain_row *rows, size_t max)
{
        bool decided = false;
        struct look l;
        size_t n;

        look_at(f, &l);
        for (n = 0; n < max && n < ELEMENTSOF(policy_rows); n++) {
                const struct row *row = policy_rows + n;
                struct explain_row *e = rows + n;

                *e = (struct explain_row){
                        .reason = row->reason,
                        .fits = row->fits(&l),
                        .means = row->means,
                        .remedy = row->remedy,
                };
                e->decides = e->fits && !decided;
                decided = decided || e->fits;
                if (row->found)
                        row->found(&l, e->found, sizeof(e->found));
                else
                        (void) copy_string(e->found, sizeof(e->found), e->fits ? row->yes : row->no);
        }
        return n;
}

const char *reason_sentence(enum reason r)
{
        for (size_t i = 0; i < ELEMENTSOF(policy_rows); i++)
                if (policy_rows[i].reason == r)
                        return policy_rows[i].means;
        return "The reason is not known.";
}
