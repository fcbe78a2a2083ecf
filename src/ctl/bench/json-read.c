/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A result out of a file that anybody may have written. What follows from the runs is computed anew, not read. */
#include "ctl/bench/json.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>

#include "common/util.h"

#define DEPTH_MAX 8
#define STRING_MAX 1024
#define PATTERNS_MAX 256
#define RUNS_MAX 65536
#define REAL_MAX 1e18

/* Once something is wrong, it stays so; whatever is asked for after that is nothing. */
struct reader {
        int error;
};

static json_object *member(struct reader *r, json_object *o, const char *key, json_type type)
{
        json_object *value;

        if (r->error == 0 && json_object_object_get_ex(o, key, &value) && json_object_is_type(value, type))
                return value;
        r->error = r->error ?: -EBADMSG;
        return NULL;
}

/* One that may be null, or not be there. */
static bool is_null(struct reader *r, json_object *o, const char *key)
{
        json_object *value;

        return r->error < 0 || !json_object_object_get_ex(o, key, &value) || !value;
}

static uint64_t get_uint(struct reader *r, json_object *o, const char *key, uint64_t max)
{
        json_object *value = member(r, o, key, json_type_int);
        uint64_t n = value ? json_object_get_uint64(value) : 0;

        /* Below 0 it would be 0 as well. */
        if (value && (n > max || json_object_get_int64(value) < 0)) {
                r->error = -EBADMSG;
                return 0;
        }
        return n;
}

static double get_real(struct reader *r, json_object *o, const char *key)
{
        json_object *value;
        double x;

        if (r->error < 0)
                return 0;
        if (!json_object_object_get_ex(o, key, &value) ||
            (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))) {
                r->error = -EBADMSG;
                return 0;
        }
        x = json_object_get_double(value);
        if (isfinite(x) && x >= 0 && x <= REAL_MAX)
                return x;
        r->error = -EBADMSG;
        return 0;
}

/* Null, or not there: negative. */
static double get_known(struct reader *r, json_object *o, const char *key)
{
        return is_null(r, o, key) ? -1 : get_real(r, o, key);
}

static bool get_bool(struct reader *r, json_object *o, const char *key)
{
        json_object *value = member(r, o, key, json_type_boolean);

        return value && json_object_get_boolean(value);
}

/* A string without a NUL in it; of the reader, or NULL. */
static const char *get_word(struct reader *r, json_object *o, const char *key)
{
        json_object *value = member(r, o, key, json_type_string);
        const char *s = value ? json_object_get_string(value) : NULL;

        if (!s || ((size_t) json_object_get_string_len(value) == strlen(s) && strlen(s) <= STRING_MAX))
                return s;
        r->error = -EBADMSG;
        return NULL;
}

/* The same, owned; NULL for null and "". */
static char *get_string(struct reader *r, json_object *o, const char *key)
{
        const char *s = is_null(r, o, key) ? NULL : get_word(r, o, key);
        char *copy;

        if (!s || !*s)
                return NULL;
        copy = strdup(s);
        if (!copy)
                r->error = -ENOMEM;
        return copy;
}

static enum driver get_driver(struct reader *r, json_object *o)
{
        const char *s = get_word(r, o, "driver");
        int d = s ? driver_from_string(s) : DRIVER_NONE;

        if (d < 0) {
                r->error = -EBADMSG;
                return DRIVER_NONE;
        }
        return (enum driver) d;
}

static void read_pattern(struct reader *r, json_object *o, struct bench_pattern *p)
{
        p->name = get_string(r, o, "name");
        p->rw = get_string(r, o, "rw");
        p->engine = get_string(r, o, "engine");
        p->block_size = get_uint(r, o, "block_size", UINT64_MAX);
        p->size = get_uint(r, o, "size", UINT64_MAX);
        p->iodepth = (unsigned) get_uint(r, o, "iodepth", UINT16_MAX);
        p->numjobs = (unsigned) get_uint(r, o, "numjobs", UINT16_MAX);
        p->read_percent = (unsigned) get_uint(r, o, "read_percent", 100);
        p->random = get_bool(r, o, "random");
        p->direct = get_bool(r, o, "direct");
        p->sync_engine = get_bool(r, o, "sync_engine");
        p->time_based = get_bool(r, o, "time_based");
        p->runtime_sec = (unsigned) get_uint(r, o, "runtime_sec", UINT_MAX);
        p->ramp_sec = (unsigned) get_uint(r, o, "ramp_sec", UINT_MAX);
        p->axis = get_real(r, o, "axis");
        if (!is_null(r, o, "fsync")) /* they came later */
                p->fsync = (unsigned) get_uint(r, o, "fsync", INT_MAX);
        if (!is_null(r, o, "fdatasync"))
                p->fdatasync = (unsigned) get_uint(r, o, "fdatasync", INT_MAX);
}

static void read_side(struct reader *r, json_object *run, const char *key, struct bench_side *s)
{
        json_object *o = member(r, run, key, json_type_object);

        if (!o)
                return;
        s->bytes = get_uint(r, o, "bytes", UINT64_MAX);
        s->ios = get_uint(r, o, "ios", UINT64_MAX);
        s->bytes_per_sec = get_real(r, o, "bytes_per_sec");
        s->iops = get_real(r, o, "iops");
        s->mean_ns = get_real(r, o, "mean_ns");
        s->p50_ns = get_uint(r, o, "p50_ns", UINT64_MAX);
        s->p95_ns = get_uint(r, o, "p95_ns", UINT64_MAX);
        s->p99_ns = get_uint(r, o, "p99_ns", UINT64_MAX);
        s->slat_mean_ns = is_null(r, o, "slat_mean_ns") ? 0 : get_real(r, o, "slat_mean_ns"); /* came later */
}

static void read_run(struct reader *r, json_object *o, const struct bench *b, struct bench_run *run)
{
        json_object *error = member(r, o, "error", json_type_int);

        run->pattern = (unsigned) get_uint(r, o, "pattern", b->n_patterns ? b->n_patterns - 1 : 0);
        run->driver = get_driver(r, o);
        run->round = (unsigned) get_uint(r, o, "round", UINT_MAX);
        run->order = (unsigned) get_uint(r, o, "order", UINT_MAX);
        run->started_usec = get_uint(r, o, "started_usec", UINT64_MAX);
        run->runtime_usec = get_uint(r, o, "runtime_usec", UINT64_MAX);
        run->region = get_uint(r, o, "region", UINT64_MAX);
        read_side(r, o, "read", &run->read);
        read_side(r, o, "write", &run->write);
        if (!is_null(r, o, "sync")) /* it came later */
                read_side(r, o, "sync", &run->sync);
        run->depth_share = get_real(r, o, "depth_share");
        run->cpu_percent = get_real(r, o, "cpu_percent");
        run->other_bytes_per_sec = get_known(r, o, "other_bytes_per_sec");
        run->device_read_bytes = get_known(r, o, "device_read_bytes");
        run->device_written_bytes = get_known(r, o, "device_written_bytes");
        run->error = error ? json_object_get_int(error) : 0;
        run->host = get_string(r, o, "host");
        if (b->n_patterns == 0 || run->error > 0 || run->error < -4095)
                r->error = r->error ?: -EBADMSG;
}

static void read_drivers(struct reader *r, json_object *o, struct bench_conditions *c)
{
        json_object *list = member(r, o, "drivers", json_type_array);

        for (size_t i = 0; list && r->error == 0 && i < json_object_array_length(list); i++) {
                json_object *one = json_object_array_get_idx(list, i);
                enum driver d = get_driver(r, one);

                free(c->scheduler[d]); /* twice in the list */
                c->scheduler[d] = get_string(r, one, "scheduler");
                c->queue_depth[d] = (unsigned) get_uint(r, one, "queue_depth", UINT_MAX);
                if (!is_null(r, one, "nr_requests")) /* later than the first results */
                        c->nr_requests[d] = (unsigned) get_uint(r, one, "nr_requests", UINT_MAX);
        }
}

static void read_conditions(struct reader *r, json_object *o, struct bench_conditions *c)
{
        c->model = get_string(r, o, "model");
        c->bridge = get_string(r, o, "bridge");
        c->firmware = get_string(r, o, "firmware");
        c->serial = get_string(r, o, "serial");
        c->controller = get_string(r, o, "controller");
        c->kernel = get_string(r, o, "kernel");
        c->fio = get_string(r, o, "fio");
        c->path = get_string(r, o, "path");
        c->speed_mbps = (unsigned) get_uint(r, o, "speed_mbps", UINT_MAX);
        c->disk_size = get_uint(r, o, "disk_size", UINT64_MAX);
        c->memory = get_uint(r, o, "memory", UINT64_MAX);
        c->rotational = get_bool(r, o, "rotational");
        read_drivers(r, o, c);
}

static void *room(struct reader *r, json_object *list, size_t max, size_t size)
{
        size_t n = list ? json_object_array_length(list) : 0;
        void *p;

        if (r->error < 0 || n > max) {
                r->error = r->error ?: -EBADMSG;
                return NULL;
        }
        p = calloc(n + 1, size);
        if (!p)
                r->error = -ENOMEM;
        return p;
}

static void read_lists(struct reader *r, json_object *o, struct bench *b)
{
        json_object *patterns = member(r, o, "patterns", json_type_array), *runs = member(r, o, "runs", json_type_array);

        b->patterns = room(r, patterns, PATTERNS_MAX, sizeof(*b->patterns));
        while (r->error == 0 && b->n_patterns < json_object_array_length(patterns)) {
                read_pattern(r, json_object_array_get_idx(patterns, b->n_patterns), &b->patterns[b->n_patterns]);
                b->n_patterns++;
        }
        b->runs = room(r, runs, RUNS_MAX, sizeof(*b->runs));
        while (r->error == 0 && b->n_runs < json_object_array_length(runs)) {
                read_run(r, json_object_array_get_idx(runs, b->n_runs), b, &b->runs[b->n_runs]);
                b->n_runs++;
        }
}

static void read_head(struct reader *r, json_object *o, struct bench *b)
{
        const char *id, *axis;
        int k;

        if (get_uint(r, o, "version", UINT64_MAX) != BENCH_JSON_VERSION)
                r->error = r->error ?: -EPROTONOSUPPORT;
        id = get_word(r, o, "id");
        if (id && (!copy_string(b->id, sizeof(b->id), id) || strspn(id, "0123456789abcdef-") < strlen(id)))
                r->error = -EBADMSG;
        b->profile = get_string(r, o, "profile");
        axis = get_word(r, o, "axis");
        k = axis ? bench_axis_from_string(axis) : 0;
        if (k < 0)
                r->error = -EBADMSG;
        else
                b->axis = (enum bench_axis) k;
        b->started_usec = get_uint(r, o, "started_usec", UINT64_MAX);
        b->interrupted = get_bool(r, o, "interrupted");
        b->single = !is_null(r, o, "single") && get_bool(r, o, "single"); /* it came later */
}

static int read_bench(json_object *o, struct bench *ret)
{
        struct reader r = {};
        struct bench b = {};
        json_object *part;

        read_head(&r, o, &b);
        part = member(&r, o, "conditions", json_type_object);
        if (part)
                read_conditions(&r, part, &b.conditions);
        read_lists(&r, o, &b);
        b.finding.found = !is_null(&r, o, "finding");
        part = b.finding.found ? member(&r, o, "finding", json_type_object) : NULL;
        if (part) {
                b.finding.driver = get_driver(&r, part);
                b.finding.run = (unsigned) get_uint(&r, part, "run", UINT_MAX);
                b.finding.what = get_string(&r, part, "what");
        }
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
        tokener = json_tokener_new_ex(DEPTH_MAX);
        if (!tokener)
                return -ENOMEM;
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
        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (dirfd == AT_FDCWD ? 0 : O_NOFOLLOW));
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
