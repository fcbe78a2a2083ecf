/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report that somebody has sent: what stands between its two lines. */
#include "core/explain.h"
#include "ctl/facts-block.h"
#include "ctl/json-disk.h"
#include "fuzz.h"

static char *block_of(const char *json)
{
        char *text;

        CHECK(asprintf(&text, FACTS_BLOCK_BEGIN "\n%s\n" FACTS_BLOCK_END "\n", json) > 0);
        return text;
}

/* Decided by the table, and the same when it is written and read again. */
static void check_block(const struct facts_block *b)
{
        struct views views = {.list = calloc(b->n + 1, sizeof(struct view)), .n = b->n};
        char why[FACTS_BLOCK_WHY_MAX], *json, *text;
        struct facts_block again;
        json_object *o;

        CHECK(views.list && b->n <= FACTS_BLOCK_DISKS_MAX);
        for (size_t i = 0; i < b->n; i++) {
                const struct facts *f = &b->disks[i].facts;
                struct explain_row rows[_REASON_MAX];
                size_t n = explain(f, rows, ELEMENTSOF(rows));

                CHECK(n == _REASON_MAX && explain_deciding(rows, n));
                views.list[i].disk.facts = *f;
        }
        o = facts_block_json(&views);
        json = json_text(o);
        CHECK(json);
        text = block_of(json);
        CHECK(facts_block_read(text, strlen(text), &again, why) == 0);
        CHECK(again.n == b->n);
        for (size_t i = 0; i < b->n; i++) {
                struct recorded_decision here;

                CHECK(again.disks[i].missing == 0);
                CHECK(memcmp(&again.disks[i].facts, &b->disks[i].facts, sizeof(struct facts)) == 0);
                recorded_decide(&b->disks[i].facts, &here);
                CHECK(recorded_same(&again.disks[i].decision, &here));
        }
        facts_block_done(&again);
        json_object_put(o);
        free(json);
        free(text);
        free(views.list);
}

static void check_text(const char *text, size_t size)
{
        char why[FACTS_BLOCK_WHY_MAX];
        struct facts_block b;
        int k = facts_block_read(text, size, &b, why);

        CHECK(k == 0 || k == -ENOENT || (k == -EBADMSG && *why && strlen(why) < sizeof(why)));
        if (k < 0)
                return;
        check_block(&b);
        facts_block_done(&b);
}

/* As it is, and as if the lines around it were there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size), *framed = block_of(text);

        check_text(text, size);
        check_text(framed, strlen(framed));
        free(framed);
        free(text);
        return 0;
}
