/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a result from a file, which any program may have written. Figures that follow from the runs are computed, not read. */
#include "bench/tell/json.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>

#include "bench/bench.h"
#include "common/util.h"
#include "term/program.h"

#define DEPTH_MAX 8
#define PATTERNS_MAX 256
#define RUNS_MAX 65536
#define REAL_MAX 1e18
#define ERRNO_MAX 4095

/* The first error stays. After it every value is 0 or NULL. */
struct json_reader {
        int error;
};

static void wrong(struct json_reader *r)
{
        r->error = r->error ?: -EBADMSG;
}

/* NULL for null and for a missing member. */
static json_object *value_of(const struct json_reader *r, json_object *o, const char *key)
{
        json_object *value;

        return r->error == 0 && json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static json_object *member(struct json_reader *r, json_object *o, const char *key, json_type type)
{
        json_object *value = value_of(r, o, key);

        if (value && json_object_is_type(value, type))
                return value;
        wrong(r);
        return NULL;
}

static uint64_t get_uint(struct json_reader *r, json_object *o, const char *key, uint64_t max)
{
        json_object *value = member(r, o, key, json_type_int);
        uint64_t n = value ? json_object_get_uint64(value) : 0;

        /* json-c returns 0 for negative numbers, too. */
        if (value && (n > max || json_object_get_int64(value) < 0))
                wrong(r);
        return r->error == 0 ? n : 0;
}

static double get_real(struct json_reader *r, json_object *o, const char *key)
{
        json_object *value = value_of(r, o, key);
        double x = json_object_get_double(value);

        if ((json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)) && isfinite(x) &&
            x >= 0 && x <= REAL_MAX)
                return x;
        wrong(r);
        return 0;
}

/* A string without NUL characters, owned by json-c; or NULL. */
static const char *get_word(struct json_reader *r, json_object *o, const char *key)
{
        json_object *value = member(r, o, key, json_type_string);
        const char *s = value ? json_object_get_string(value) : NULL;

        if (!s || (size_t) json_object_get_string_len(value) == strlen(s))
                return s;
        wrong(r);
        return NULL;
}

static void get_text(struct json_reader *r, json_object *o, const char *key, char *ret, size_t size)
{
        const char *s = value_of(r, o, key) ? get_word(r, o, key) : NULL;

        if (s && !copy_string(ret, size, s))
                wrong(r);
}

/* The value of a word; 0 if there is none. */
static int get_enum(struct json_reader *r, json_object *o, const char *key, int (*from_string)(const char *s))
{
        const char *s = get_word(r, o, key);
        int value = s ? from_string(s) : 0;

        if (value < 0)
                wrong(r);
        return value < 0 ? 0 : value;
}

static int get_errno(struct json_reader *r, json_object *o, const char *key)
{
        json_object *value = member(r, o, key, json_type_int);
        int error = value ? json_object_get_int(value) : 0;

        if (error > 0 || error < -ERRNO_MAX)
                wrong(r);
        return error;
}

static int driver_of(const char *s)
{
        return driver_from_string(s);
}

static void read_fields(struct json_reader *r, json_object *o, const struct field *fields, void *to)
{
        for (const struct field *f = fields; f->name; f++) {
                void *at = (char *) to + f->offset;

                switch (f->type) {
                case FIELD_STRING:
                case FIELD_WORD:
                        get_text(r, o, f->name, at, f->max);
                        break;
                case FIELD_UINT:
                        *(unsigned *) at = (unsigned) get_uint(r, o, f->name, f->max ?: UINT_MAX);
                        break;
                case FIELD_UINT64:
                case FIELD_TIME:
                        *(uint64_t *) at = get_uint(r, o, f->name, f->max ?: UINT64_MAX);
                        break;
                case FIELD_REAL:
                        *(double *) at = get_real(r, o, f->name);
                        break;
                case FIELD_KNOWN:
                        *(double *) at = value_of(r, o, f->name) ? get_real(r, o, f->name) : -1;
                        break;
                case FIELD_BOOL:
                        *(bool *) at = json_object_get_boolean(member(r, o, f->name, json_type_boolean));
                        break;
                case FIELD_ERRNO:
                        *(int *) at = get_errno(r, o, f->name);
                        break;
                case FIELD_DRIVER:
                        *(enum driver *) at = (enum driver) get_enum(r, o, f->name, driver_of);
                        break;
                case FIELD_AXIS:
                        *(enum bench_axis *) at = (enum bench_axis) get_enum(r, o, f->name, bench_axis_from_string);
                        break;
                case FIELD_SIDE:
                        read_fields(r, member(r, o, f->name, json_type_object), side_fields, at);
                        break;
                }
        }
}

static void read_queues(struct json_reader *r, json_object *o, struct bench_conditions *c)
{
        json_object *list = member(r, o, "drivers", json_type_array);

        for (size_t i = 0; r->error == 0 && i < json_object_array_length(list); i++) {
                json_object *one = json_object_array_get_idx(list, i);
                enum driver d = (enum driver) get_enum(r, one, "driver", driver_of);

                read_fields(r, one, queue_fields, &c->queues[d]);
        }
}

static void *room(struct json_reader *r, json_object *list, size_t max, size_t size)
{
        size_t n = list ? json_object_array_length(list) : 0;

        if (n > max)
                wrong(r);
        if (r->error < 0)
                return NULL;
        return need(calloc(n + 1, size));
}

static void read_lists(struct json_reader *r, json_object *o, struct bench *b)
{
        json_object *patterns = member(r, o, "patterns", json_type_array);
        json_object *runs = member(r, o, "runs", json_type_array);

        b->patterns = room(r, patterns, PATTERNS_MAX, sizeof(*b->patterns));
        while (r->error == 0 && b->n_patterns < json_object_array_length(patterns)) {
                json_object *one = json_object_array_get_idx(patterns, b->n_patterns);

                read_fields(r, one, pattern_fields, &b->patterns[b->n_patterns++]);
        }
        b->runs = room(r, runs, RUNS_MAX, sizeof(*b->runs));
        while (r->error == 0 && b->n_runs < json_object_array_length(runs)) {
                struct bench_run *run = &b->runs[b->n_runs];

                read_fields(r, json_object_array_get_idx(runs, b->n_runs++), run_fields, run);
                if (run->pattern >= b->n_patterns)
                        wrong(r);
        }
}

static void read_head(struct json_reader *r, json_object *o, struct bench *b)
{
        const char *id;

        if (get_uint(r, o, "version", UINT64_MAX) != BENCH_JSON_VERSION)
                r->error = r->error ?: -EPROTONOSUPPORT;
        id = get_word(r, o, "id");
        if (id && (!copy_string(b->id, sizeof(b->id), id) || strspn(id, "0123456789abcdef-") < strlen(id)))
                wrong(r);
        read_fields(r, o, bench_fields, b);
}

static int read_bench(json_object *o, struct bench *ret)
{
        struct json_reader r = {};
        struct bench b = {};
        json_object *part;

        read_head(&r, o, &b);
        part = member(&r, o, "conditions", json_type_object);
        read_fields(&r, part, conditions_fields, &b.conditions);
        read_queues(&r, part, &b.conditions);
        read_lists(&r, o, &b);
        b.finding.found = value_of(&r, o, "finding");
        if (b.finding.found)
                read_fields(&r, member(&r, o, "finding", json_type_object), finding_fields, &b.finding);
        if (r.error < 0) {
                bench_done(&b);
                return r.error;
        }
        *ret = b;
        return 0;
}

int bench_json_parse(const char *text, size_t size, struct bench *ret)
{
        json_tokener *tokener;
        json_object *o;
        size_t end;
        int r = -EBADMSG;

        if (size > BENCH_JSON_SIZE_MAX)
                return -EFBIG;
        tokener = need(json_tokener_new_ex(DEPTH_MAX));
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(tokener, text, (int) size);
        end = json_tokener_get_parse_end(tokener);
        if (json_object_is_type(o, json_type_object) && strspn(text + end, " \n") == size - end)
                r = read_bench(o, ret);
        json_object_put(o);
        json_tokener_free(tokener);
        return r;
}

int bench_json_read(int dirfd, const char *path, struct bench *ret)
{
        int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (dirfd == AT_FDCWD ? 0 : O_NOFOLLOW);
        _cleanup_close_ int fd = openat(dirfd, path, flags);
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = read_whole(fd, BENCH_JSON_SIZE_MAX, &text, &size);
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;
        return bench_json_parse(text, size, ret);
}
