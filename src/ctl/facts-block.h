/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "client/view.h"
#include "core/policy.h"

/* The end of a report: what was known of every disk and what was decided, for `report --replay`. JSON between two lines. */
#define FACTS_BLOCK_BEGIN "-----BEGIN UASD FACTS-----"
#define FACTS_BLOCK_END "-----END UASD FACTS-----"

#define FACTS_BLOCK_TEXT_MAX (4 << 20) /* of all of a report */
#define FACTS_BLOCK_DISKS_MAX 128

/* In words: another version may know others. */
struct recorded_decision {
        char reason[40], target[32], rest[32];
};

struct recorded {
        struct facts facts;
        struct recorded_decision decision;
        size_t missing; /* fields that the one who wrote it did not know */
};

struct facts_block {
        char version[32]; /* of the uasctl that wrote it */
        struct recorded *disks;
        size_t n;
};

void facts_block_done(struct facts_block *b);

/* What this version decides. */
void recorded_decide(const struct facts *f, struct recorded_decision *ret);
bool recorded_same(const struct recorded_decision *a, const struct recorded_decision *b);

/* NULL: no memory. */
json_object *facts_block_json(const struct views *v);
/* With the lines around it, on stdout. 0 or -ENOMEM. */
int facts_block_print(const struct views *v);

/*
 * Nobody vouches for the text. 0; -ENOENT: no block in it; -EBADMSG: none that can be read, with what is wrong in ret_why; -ENOMEM.
 */
#define FACTS_BLOCK_WHY_MAX 128
int facts_block_read(const char *text, size_t size, struct facts_block *ret, char ret_why[static FACTS_BLOCK_WHY_MAX]);
