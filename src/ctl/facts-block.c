/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/facts-block.h"

#include "ctl/facts-json.h"
#include "ctl/json-disk.h"

#define BLOCK_VERSION 1
#define DEPTH_MAX 6

void facts_block_done(struct facts_block *b)
{
        free(b->disks);
        *b = (struct facts_block){};
}

void recorded_decide(const struct facts *f, struct recorded_decision *ret)
{
        struct decision d;

        decide(f, &d);
        *ret = (struct recorded_decision){};
        (void) copy_string(ret->reason, sizeof(ret->reason), reason_to_string(d.reason));
        (void) copy_string(ret->target, sizeof(ret->target), driver_to_string(d.target));
        (void) copy_string(ret->rest, sizeof(ret->rest), state_to_string(d.rest));
}

bool recorded_same(const struct recorded_decision *a, const struct recorded_decision *b)
{
        return streq(a->reason, b->reason) && streq(a->target, b->target) && streq(a->rest, b->rest);
}

static json_object *json_recorded(const struct facts *f)
{
        json_object *o = json_object_new_object();
        struct recorded_decision d;

        recorded_decide(f, &d);
        return o ? whole(o, put_string(o, "reason_id", d.reason) && put_string(o, "target", d.target) &&
                                    put_string(o, "rest", d.rest) && put(o, "facts", facts_to_json(f), false))
                 : NULL;
}

json_object *facts_block_json(const struct views *v)
{
        json_object *o = json_object_new_object(), *disks = json_object_new_array();
        bool ok = o && disks;

        for (size_t i = 0; ok && i < v->n && i < FACTS_BLOCK_DISKS_MAX; i++)
                ok = append(disks, json_recorded(&v->list[i].disk.facts));
        if (!ok) {
                json_object_put(disks);
                return whole(o, false);
        }
        return whole(o, put(o, "disks", disks, false) && put_int(o, "version", BLOCK_VERSION) &&
                                put_string(o, "uasctl", UASD_VERSION));
}

int facts_block_print(const struct views *v)
{
        int k;

        puts(FACTS_BLOCK_BEGIN);
        k = json_print(facts_block_json(v));
        puts(FACTS_BLOCK_END);
        return k;
}

/* ---- reading ---- */

/* The first line that begins so; *end: where the text ends. NULL: there is none. */
static const char *find_line(const char *text, const char *end, const char *line)
{
        size_t n = strlen(line);

        for (const char *at = text; (size_t) (end - at) >= n && (at = memmem(at, (size_t) (end - at), line, n)); at++)
                if (at == text || at[-1] == '\n')
                        return at;
        return NULL;
}

static json_object *parse(const char *text, size_t size)
{
        struct json_tokener *t = json_tokener_new_ex(DEPTH_MAX);
        json_object *o;

        if (!t)
                return NULL;
        json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(t, text, (int) size);
        if (json_tokener_get_error(t) != json_tokener_success) {
                json_object_put(o);
                o = NULL;
        }
        json_tokener_free(t);
        return o;
}

static bool get_word(json_object *o, const char *key, char *ret, size_t size)
{
        json_object *value;

        return json_object_object_get_ex(o, key, &value) && json_object_is_type(value, json_type_string) &&
               strlen(json_object_get_string(value)) == (size_t) json_object_get_string_len(value) &&
               copy_string(ret, size, json_object_get_string(value));
}

static int bad(char *ret_why, const char *what)
{
        (void) copy_string(ret_why, FACTS_BLOCK_WHY_MAX, what);
        return -EBADMSG;
}

static int read_disk(json_object *o, struct recorded *ret, char *ret_why)
{
        struct recorded_decision *d = &ret->decision;
        const char *field = "";
        json_object *facts;

        *d = (struct recorded_decision){};
        if (!get_word(o, "reason_id", d->reason, sizeof(d->reason)) || !get_word(o, "target", d->target, sizeof(d->target)) ||
            !get_word(o, "rest", d->rest, sizeof(d->rest)))
                return bad(ret_why, "it does not say what was decided");
        if (!json_object_object_get_ex(o, "facts", &facts) || !json_object_is_type(facts, json_type_object))
                return bad(ret_why, "it has a disk without facts");
        if (facts_from_json(facts, &ret->facts, &ret->missing, &field) < 0) {
                (void) snprintf(ret_why, FACTS_BLOCK_WHY_MAX, "'%s' of a disk has a value that it cannot have", field);
                return -EBADMSG;
        }
        return 0;
}

static int read_block(json_object *o, struct facts_block *ret, char *ret_why)
{
        json_object *version, *disks;
        size_t n;
        int k = 0;

        if (!json_object_object_get_ex(o, "version", &version) || json_object_get_int64(version) != BLOCK_VERSION ||
            !get_word(o, "uasctl", ret->version, sizeof(ret->version)))
                return bad(ret_why, "it is of a version that this uasctl does not know");
        if (!json_object_object_get_ex(o, "disks", &disks) || !json_object_is_type(disks, json_type_array))
                return bad(ret_why, "it has no list of disks");
        n = json_object_array_length(disks);
        if (n > FACTS_BLOCK_DISKS_MAX)
                return bad(ret_why, "it has too many disks");
        ret->disks = calloc(n + 1, sizeof(*ret->disks));
        if (!ret->disks)
                return -ENOMEM;
        for (; ret->n < n && k >= 0; ret->n++)
                k = read_disk(json_object_array_get_idx(disks, ret->n), &ret->disks[ret->n], ret_why);
        return k;
}

int facts_block_read(const char *text, size_t size, struct facts_block *ret, char ret_why[static FACTS_BLOCK_WHY_MAX])
{
        const char *stop = text + size, *begin = find_line(text, stop, FACTS_BLOCK_BEGIN), *end;
        struct facts_block block = {};
        json_object *o;
        int k;

        ret_why[0] = '\0';
        if (!begin)
                return -ENOENT;
        begin += strlen(FACTS_BLOCK_BEGIN);
        end = find_line(begin, stop, FACTS_BLOCK_END);
        if (!end)
                return bad(ret_why, "its last line is missing");
        if (size > FACTS_BLOCK_TEXT_MAX)
                return bad(ret_why, "it is too long");
        o = parse(begin, (size_t) (end - begin));
        if (!json_object_is_type(o, json_type_object)) {
                json_object_put(o);
                return bad(ret_why, "it is no JSON");
        }
        k = read_block(o, &block, ret_why);
        json_object_put(o);
        if (k < 0)
                facts_block_done(&block);
        else
                *ret = block;
        return k;
}
